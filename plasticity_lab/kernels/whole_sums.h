// Sums of floats as sums of whole numbers, which are the same in any order: `sums_below_two` and `exact_sums` of stacking/products.py,
// with their bits.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "vectors.h"

namespace {

using Long = int64_t __attribute__((vector_size(LANES * sizeof(int64_t))));

// halves(a, b) until one lane is left.
template <class Lanes, class Halves>
INLINE auto folded(const Lanes& x, Halves halves) {
  auto found = std::bit_cast<std::array<std::remove_cvref_t<decltype(x[0])>, LANES>>(x);
  UNROLLED for (int half = LANES / 2; half; half /= 2)
    UNROLLED for (int lane = 0; lane < half; lane++) found[lane] = halves(found[lane], found[lane + half]);
  return found[0];
}

// How rows of a length are summed up.
struct WholeSums {
  long length;
  int bits;
  float scale;
  double part;

  explicit WholeSums(long length)
      : length(length), bits(61 - std::bit_width(static_cast<uint64_t>(length))), scale(std::ldexp(1.0f, bits)), part(std::ldexp(1.0, -bits)) {}

  // Σ x · factor · more of numbers that are between −2 and 2 with both factors.
  float of(const float* x, float factor = 1, float more = 1) const {
    constexpr float SPLIT = 0x1p30f;  // a whole number below 2⁶¹ in two parts that are below 2³¹
    Long upper = {}, lower = {};
    long i = 0;
    for (; i + LANES <= length; i += LANES) {
      const Vector whole = load(x + i) * all(factor) * all(more * scale);
      const Whole high = __builtin_convertvector(whole * all(1 / SPLIT), Whole);
      const Whole low = __builtin_convertvector(whole - __builtin_convertvector(high, Vector) * all(SPLIT), Whole);
      upper += __builtin_convertvector(high, Long), lower += __builtin_convertvector(low, Long);
    }
    int64_t sum = i ? folded((upper << 30) + lower, [](auto one, auto other) { return one + other; }) : 0;
    for (; i < length; i++) sum += static_cast<int64_t>(x[i] * factor * (more * scale));
    return rounded(sum);
  }

  // The same where numbers may be none, which the processor takes for the least whole number.
  float with_nan(const float* x) const {
    uint64_t sum = 0;
    for (long i = 0; i < length; i++)
      sum += static_cast<uint64_t>(x[i] == x[i] ? static_cast<int64_t>(x[i] * scale) : std::numeric_limits<int64_t>::min());
    return rounded(static_cast<int64_t>(sum));
  }

 private:
  float rounded(int64_t sum) const { return static_cast<float>(static_cast<double>(sum) * part); }
};

// The largest of some numbers; NaN if one is none. of: x, or its size.
template <class Of>
INLINE float largest(const float* x, long length, Of of) {
  float found = -INFINITY;
  long i = 0;
  if (length >= LANES) {
    Vector most = all(-INFINITY);
    Whole none = {};
    for (; i + LANES <= length; i += LANES) {
      const Vector each = of(load(x + i));
      most = each > most ? each : most, none |= each != each;
    }
    const bool is_none = folded(none, [](auto one, auto other) { return one | other; });
    found = is_none ? NAN : folded(most, [](auto one, auto other) { return one > other ? one : other; });
  }
  for (; i < length; i++) {
    const float each = of(x[i]);
    found = each > found || each != each ? each : found;
  }
  return found;
}

// Σ x; NaN if a number is not finite.
inline float exact_sum(const float* x, long length) {
  struct Size {
    INLINE Vector operator()(Vector each) const { return reinterpret_cast<Vector>(reinterpret_cast<Whole>(each) & 0x7fffffff); }
    INLINE float operator()(float each) const { return std::fabs(each); }
  };
  const float most = largest(x, length, Size());
  if (!(most < INFINITY)) return NAN;
  const float whole = std::bit_cast<float>(std::bit_cast<int>(most) & 0x7f800000), power = whole > 0 ? whole : 1;
  const float more = power > 0x1p126f ? 0.5f : 1.0f;  // its reciprocal would be denormal, which a processor may take for 0
  return WholeSums(length).of(x, 1 / (power * more), more) * power;
}

}  // namespace
