// The functions of stacking/composed.py and Philox's words, for calls in the loops that torch's compiler writes: the same operations
// in the same order on a number or on a vector, and the same bits.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace written {

constexpr int lanes_of_vector =
#if INDUCTOR_USE_VECTOR_TYPES()
    at::vec::Vectorized<float>::size();
#else
    1;
#endif

template <typename Number> struct Types {  // of a vector
  using Whole = int32_t __attribute__((vector_size(lanes_of_vector * sizeof(int32_t))));
  using Wide = double __attribute__((vector_size(lanes_of_vector * sizeof(double))));
};
template <> struct Types<float> {
  using Whole = int32_t;
  using Wide = double;
};

template <typename To, typename From> inline To converted(From x) {
  if constexpr (std::is_arithmetic_v<From>) return static_cast<To>(x);
  else return __builtin_convertvector(x, To);
}

template <typename To, typename From> inline To same_bits(From x) { return __builtin_bit_cast(To, x); }

// A constant, as a number or in all lanes.
template <typename V, typename Number> inline V all(Number x) {
  if constexpr (std::is_arithmetic_v<V>) return x;
  else return x - V{};
}

template <typename V> inline V absolute(V x) {
  return same_bits<V>(same_bits<typename Types<V>::Whole>(x) & static_cast<int32_t>(0x7fffffff));
}

template <typename V> inline V between(float low, V x, float high) { return x < low ? all<V>(low) : x > high ? all<V>(high) : x; }

// Σ cᵢ xⁱ, the highest power's coefficient first.
template <int N, typename V> inline V polynomial(const float (&coefficients)[N], V x) {
  V total = all<V>(coefficients[0]);
#pragma GCC unroll 16
  for (int i = 1; i < N; i++) total = total * x + coefficients[i];
  return total;
}

// e^r − 1 and two powers of two with product 2ⁿ, x = n ln 2 + r; 2ⁿ itself may be infinite. x is clamped so that e^x is a normal number.
constexpr float LARGEST = 88.72283172607422f, SMALLEST = -87.33654022216797f;
template <typename V> struct Parts {
  V fraction, power, more;
  explicit Parts(V x) {
    static constexpr float EXP[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
    const V inside = between(SMALLEST, x, LARGEST);
    const V n = (inside * 1.4426950408889634f + 0x1.8p23f) - 0x1.8p23f;  // rounded to a whole number
    const V r = inside - n * 0.693359375f - n * -2.12194440e-4f;
    fraction = polynomial(EXP, r) * (r * r) + r;
    using Whole = typename Types<V>::Whole;
    const Whole whole = converted<Whole>(n), half = whole >> 1;
    power = same_bits<V>((half + 127) << 23), more = same_bits<V>((whole - half + 127) << 23);
  }
};

template <typename V> inline V exp_of(V x) {
  const Parts<V> parts(x);
  const V value = (parts.fraction + 1.0f) * parts.power * parts.more;
  const V bounded = x < SMALLEST ? all<V>(0.0f) : value;
  return x <= LARGEST ? bounded : x * std::numeric_limits<float>::infinity();
}

template <typename V> inline V expm1_of(V x) {
  const Parts<V> parts(x);
  const V power = parts.power * parts.more;
  return x < SMALLEST ? all<V>(-1.0f) : parts.fraction * power + (power - 1.0f);
}

template <typename V> inline V log_of(V x) {
  static constexpr float LOG[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,  -1.2420140846e-1f, 1.4249322787e-1f,
                                  -1.6668057665e-1f, 2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  constexpr float TINY = std::numeric_limits<float>::min(), INFINITE = std::numeric_limits<float>::infinity();
  constexpr int32_t ROOT_HALF = 0x3F3504F3;  // the bits of √½
  using Whole = typename Types<V>::Whole;
  const Whole bits = same_bits<Whole>(x >= TINY ? x : all<V>(1.0f)), power = (bits - ROOT_HALF) >> 23;
  const V f = same_bits<V>(bits - (power << 23)) - 1.0f, n = converted<V>(power), square = f * f;
  const V value = f + (polynomial(LOG, f) * f * square + n * -2.12194440e-4f - square * 0.5f) + n * 0.693359375f;
  const V below = x < 0.0f ? all<V>(std::numeric_limits<float>::quiet_NaN()) : all<V>(-INFINITE);
  const V above = x < INFINITE ? value : x;
  return x < TINY ? below : above;
}

template <typename V> inline V tanh_of(V x) {
  static constexpr float NEAR[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f};
  const V square = x * x, size = absolute(x);
  const V near = polynomial(NEAR, square) * square * x + x;
  const V far = 1.0f - 2.0f / (exp_of(size + size) + 1.0f);
  const V signed_far = x < 0.0f ? -far : far;
  return size < 0.625f ? near : signed_far;
}

template <typename V> inline V erf_of(V x) {
  static constexpr float NEAR[] = {-5.9642392e-4f, 4.9880072e-3f, -2.6763134e-2f, 1.1281721e-1f, -3.7612486e-1f, 1.2837915e-1f};
  static constexpr float FAR[] = {-1.1527229e-5f, 3.2576837e-4f,  -3.6545240e-3f, 2.3787607e-2f,
                                  -1.0626657e-1f, -6.3513333e-1f, -1.2865292e-1f};
  const V square = x * x, size = absolute(x), bounded = size > 4.0f ? all<V>(4.0f) : size;
  const V near = polynomial(NEAR, square) * x + x;
  const V far = 1.0f - exp_of(polynomial(FAR, bounded) * bounded - bounded);
  const V signed_far = x < 0.0f ? -far : far;
  return size <= 0.927734375f ? near : signed_far;
}

// To the nearest whole number, ties to even, and to the next lower one, by the processor's instructions.
template <typename W> inline W rounded(W x, bool down) {
  if constexpr (std::is_arithmetic_v<W>) {
    return down ? std::floor(x) : std::nearbyint(x);
  } else {
#if INDUCTOR_USE_VECTOR_TYPES()
    using Part = at::vec::Vectorized<double>;
    double lanes[sizeof(W) / sizeof(double)];
    std::memcpy(lanes, &x, sizeof x);
    for (size_t at = 0; at < sizeof(W) / sizeof(double); at += Part::size()) {
      const Part part = Part::loadu(lanes + at);
      (down ? part.floor() : part.round()).store(lanes + at);
    }
    std::memcpy(&x, lanes, sizeof x);
#endif
    return x;
  }
}

// The sine or the cosine of x minus a whole number of quarter turns.
template <bool COSINE, typename V> inline V wave_of(V x) {
  static constexpr float SIN[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  static constexpr float COS[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
  using Wide = typename Types<V>::Wide;
  const Wide wide = converted<Wide>(x), n = rounded(wide * 0.6366197723675814, false);
  const V rest = between(-1.0f, converted<V>(wide - n * 1.57079632673412561417 - n * 6.07710050650619224932e-11), 1.0f);
  const V quarter = converted<V>(n - rounded(n * 0.25, true) * 4.0), square = rest * rest;
  const V sine = polynomial(SIN, square) * square * rest + rest;
  const V cosine = polynomial(COS, square) * square * square - square * 0.5f + 1.0f;
  const auto odd = (quarter == 1.0f) | (quarter == 3.0f);
  if constexpr (COSINE) {
    const V value = odd ? sine : cosine;
    return (quarter == 1.0f) | (quarter == 2.0f) ? -value : value;
  } else {
    const V value = odd ? cosine : sine;
    return quarter >= 2.0f ? -value : value;
  }
}
template <typename V> inline V sin_of(V x) { return wave_of<false>(x); }
template <typename V> inline V cos_of(V x) { return wave_of<true>(x); }

// The vector itself, as the compiler has it.
template <typename Lanes, typename V> inline Lanes lanes_of(const V& x) {
  Lanes found;
  static_assert(sizeof found == sizeof x);
  std::memcpy(&found, &x, sizeof found);
  return found;
}

#if INDUCTOR_USE_VECTOR_TYPES()
using Vector = float __attribute__((vector_size(lanes_of_vector * sizeof(float))));
#define OF_VECTOR(name)                                                         \
  inline at::vec::Vectorized<float> name(const at::vec::Vectorized<float>& x) { \
    const Vector found = name##_of(lanes_of<Vector>(x));                        \
    return at::vec::Vectorized<float>::loadu(&found);                           \
  }
#else
#define OF_VECTOR(name)
#endif
#define CALLED(name)                                  \
  inline float name(float x) { return name##_of(x); } \
  OF_VECTOR(name)
CALLED(exp)
CALLED(expm1)
CALLED(log)
CALLED(tanh)
CALLED(erf)
CALLED(sin)
CALLED(cos)
#undef CALLED
#undef OF_VECTOR

template <int BYTES> struct Whole64 {
  typedef int64_t Type __attribute__((vector_size(BYTES)));
};

// One of the four words of Philox-4×32-10. Source: Salmon et al. 2011. W is a whole number of 64 bits, or a vector of them.
template <int WORD, typename W> inline W philox_of(W k0, W k1, W lane, W low, W high) {
  constexpr int64_t word = 0xFFFFFFFF;
  W c0 = lane, c1 = lane & static_cast<int64_t>(0), c2 = low, c3 = high;
#pragma GCC unroll 10
  for (int round = 0; round < 10; round++) {
    const W p0 = c0 * static_cast<int64_t>(0xD2511F53), p1 = c2 * static_cast<int64_t>(0xCD9E8D57);
    c0 = ((p1 >> 32) & word) ^ c1 ^ k0, c1 = p1 & word;
    c2 = ((p0 >> 32) & word) ^ c3 ^ k1, c3 = p0 & word;
    k0 = (k0 + static_cast<int64_t>(0x9E3779B9)) & word, k1 = (k1 + static_cast<int64_t>(0xBB67AE85)) & word;
  }
  return WORD == 0 ? c0 : WORD == 1 ? c1 : WORD == 2 ? c2 : c3;
}
template <int WORD, typename V> inline V philox(const V& k0, const V& k1, const V& lane, const V& low, const V& high) {
  if constexpr (std::is_arithmetic_v<V>) {
    return philox_of<WORD>(k0, k1, lane, low, high);
  } else {
    using Words = typename Whole64<sizeof(V)>::Type;
    const Words found = philox_of<WORD>(
        lanes_of<Words>(k0), lanes_of<Words>(k1), lanes_of<Words>(lane), lanes_of<Words>(low), lanes_of<Words>(high));
    return V::loadu(&found);
  }
}
template <typename V> inline V philox_0(V k0, V k1, V lane, V low, V high) { return philox<0>(k0, k1, lane, low, high); }
template <typename V> inline V philox_1(V k0, V k1, V lane, V low, V high) { return philox<1>(k0, k1, lane, low, high); }
template <typename V> inline V philox_2(V k0, V k1, V lane, V low, V high) { return philox<2>(k0, k1, lane, low, high); }
template <typename V> inline V philox_3(V k0, V k1, V lane, V low, V high) { return philox<3>(k0, k1, lane, low, high); }

}  // namespace written
