// Uniform and normal numbers of many runs, and the factors of noisy layers, on one core of a CPU: the operations of
// randomness/device.py, stacking/elementary.py and stacking/noisy.py in the same order, each rounded by itself, so the bits are those
// of compiled code without this kernel.
//
// Legend: K runs, N numbers of each, R rows, M numbers of a row.

#include <cmath>

#include "composed.h"
#include "philox.h"
#include "tensors.h"

namespace {

// Half a vector in float64.
using Wide = double __attribute__((vector_size(LANES * sizeof(float))));

#if defined(__AVX512F__)
INLINE Wide lower(Vector x) { return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); }
INLINE Wide upper(Vector x) {
  return _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
}
INLINE Vector rounded(Wide low, Wide high) {
  const __m256d part = _mm256_castps_pd(_mm512_cvtpd_ps(high));
  return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(_mm512_cvtpd_ps(low))), part, 1));
}
#else
INLINE Wide lower(Vector x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(x)); }
INLINE Wide upper(Vector x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)); }
INLINE Vector rounded(Wide low, Wide high) { return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)); }
#endif

// The nearest whole number of quarter turns, and the rest of x.
INLINE void turn(Wide x, Wide& quarters, Wide& rest) {
  quarters = (x * 0.6366197723675814 + 0x1.8p52) - 0x1.8p52;
  rest = x - quarters * 1.57079632673412561417 - quarters * 6.07710050650619224932e-11;
}

// Changes the sign where a bit of a number is set.
INLINE Vector negated(Vector x, Whole number, int bit) {
  return reinterpret_cast<Vector>(reinterpret_cast<Whole>(x) ^ ((number >> bit & 1) << 31));
}

// Sine and cosine of at most a few turns.
INLINE void sin_and_cos(Vector x, Vector& sine, Vector& cosine) {
  constexpr float SIN[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  constexpr float COS[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
  Wide quarters[2], rests[2];
  turn(lower(x), quarters[0], rests[0]), turn(upper(x), quarters[1], rests[1]);
  const Whole quarter = __builtin_convertvector(rounded(quarters[0], quarters[1]), Whole), odd = (quarter & 1) != 0;
  const Vector rest = rounded(rests[0], rests[1]), square = rest * rest;
  const Vector one = polynomial(SIN, square) * square * rest + rest;
  const Vector other = polynomial(COS, square) * square * square - all(0.5f) * square + all(1);
  sine = negated(odd ? other : one, quarter, 1);
  cosine = negated(odd ? one : other, quarter ^ (quarter >> 1), 0);
}

INLINE Vector factor(Vector normal) {
  const Vector size = root(absolute(normal));
  return normal < all(0) ? -size : size;
}

// The first `count` of a run's numbers: normal ones, or the factors made of them. Two are made of two uniform ones that are `half`
// a row apart.
template <bool FACTORS>
void fill(const float* uniform, long half, long count, float* to) {
  for (long i = 0; i < half; i += LANES) {
    const int some = static_cast<int>(std::min<long>(LANES, half - i));
    const Vector first = load(uniform + i, some), second = load(uniform + half + i, some);
    const Vector radius = root(all(-2) * composed_log(all(1) - first));
    Vector found[2];
    sin_and_cos(all(6.283185307179586f) * second, found[1], found[0]);
    for (int part = 0; part < 2; part++) {
      const Vector normal = radius * found[part], value = FACTORS ? factor(normal) : normal;
      const long at = part * half + i, number = std::min<long>(some, count - at);
      if (number >= LANES) store(to + at, value);
      else if (number > 0) store(to + at, value, static_cast<int>(number));
    }
  }
}

// keys (K, 2) and step () whole numbers → (K, N).
Tensor uniforms_of(const Tensor& keys_given, const Tensor& step, int64_t numbers) {
  const Tensor keys = in_one_piece(keys_given);
  STD_TORCH_CHECK(keys.scalar_type() == ScalarType::Long && step.scalar_type() == ScalarType::Long, "int64 is needed");
  const long runs = keys.size(0);
  Tensor drawn = empty({runs, numbers});
  const auto key = static_cast<const int64_t*>(keys.data_ptr());
  const int64_t at = *static_cast<const int64_t*>(step.data_ptr());
  for (long k = 0; k < runs; k++) uniforms(key + 2 * k, at, numbers, drawn.mutable_data_ptr<float>() + k * numbers);
  return drawn;
}

// Rows of uniform numbers, which may be far apart in memory.
struct Rows {
  const Tensor held;
  const long runs = held.size(0), numbers = held.size(1);

  explicit Rows(const Tensor& x) : held(x.size(1) < 2 || x.stride(1) == 1 ? x : torch::stable::contiguous(x)) {
    STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float && numbers % 2 == 0, "an even number of float32 is needed");
  }
  const float* of(long k) const { return held.const_data_ptr<float>() + k * held.stride(0); }
};

// uniform (K, N) in [0, 1), N even → independent standard normal numbers, (K, N).
Tensor normals(const Tensor& uniform) {
  const Rows rows(uniform);
  Tensor drawn = empty({rows.runs, rows.numbers});
  float* to = drawn.mutable_data_ptr<float>();
  for (long k = 0; k < rows.runs; k++) fill<false>(rows.of(k), rows.numbers / 2, rows.numbers, to + k * rows.numbers);
  return drawn;
}

// sign(z) √|z| of the normal numbers z, as many rows of M as there are numbers for; rows of zeros follow.  → (K, R, M)
Tensor noise_factors(const Tensor& uniform, int64_t count, int64_t numbers) {
  const Rows rows(uniform);
  const long all_numbers = count * numbers, there = std::min<long>(rows.numbers / numbers, count) * numbers;
  Tensor factors = empty({rows.runs, count, numbers});
  for (long k = 0; k < rows.runs; k++) {
    float* to = factors.mutable_data_ptr<float>() + k * all_numbers;
    fill<true>(rows.of(k), rows.numbers / 2, there, to);
    std::fill(to + there, to + all_numbers, 0.0f);
  }
  return factors;
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("uniforms", TORCH_BOX(&uniforms_of));
  library.impl("normals", TORCH_BOX(&normals));
  library.impl("noise_factors", TORCH_BOX(&noise_factors));
}
