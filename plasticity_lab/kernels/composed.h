// e^x and the natural logarithm of a vector, by the operations of stacking/composed.py in their order: the same bits as compiled code.
#pragma once

#include <cmath>

#include "vectors.h"

namespace {

// Σ cᵢ xⁱ, the highest power's coefficient first; each operation is rounded.
template <int N>
INLINE Vector polynomial(const float (&coefficients)[N], Vector x) {
  Vector total = all(coefficients[0]);
  UNROLLED for (int i = 1; i < N; i++) total = total * x + all(coefficients[i]);
  return total;
}

// e^r − 1 and n with x = n ln 2 + r, x between the numbers for which e^x is a normal one. n stands in the last bits of the sum that
// gives it, x / ln 2 + 1.5 · 2²³, and is given as 2ⁿ.
struct Parts {
  Vector fraction, power;

  INLINE explicit Parts(Vector inside) {
    constexpr float EXP[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
    const Vector shifted = inside * all(1.4426950408889634f) + all(0x1.8p23f), n = shifted - all(0x1.8p23f);
    const Vector r = inside - n * all(0.693359375f) - n * all(-2.12194440e-4f);
    fraction = polynomial(EXP, r) * (r * r) + r;
    power = reinterpret_cast<Vector>((reinterpret_cast<Whole>(shifted) << 23) + reinterpret_cast<Whole>(all(1)));
  }
};
constexpr float SMALLEST = -87.33654022216797f;

// e^x, x ≤ 0 or no number.
INLINE Vector composed_exp(Vector x) {
  const Parts parts(x < all(SMALLEST) ? all(SMALLEST) : x);
  return x < all(SMALLEST) ? all(0) : x <= all(0) ? (parts.fraction + all(1)) * parts.power : x;
}

// e^x, x ≤ 88 or no number.
INLINE Vector composed_exp_to_88(Vector x) {
  const Parts parts(x < all(SMALLEST) ? all(SMALLEST) : x);
  return x < all(SMALLEST) ? all(0) : x <= all(88) ? (parts.fraction + all(1)) * parts.power : x;
}

// e^x − 1, x ≤ 0 or no number.
INLINE Vector composed_expm1(Vector x) {
  const Parts parts(x < all(SMALLEST) ? all(SMALLEST) : x);
  return x < all(SMALLEST) ? all(-1) : x <= all(0) ? parts.fraction * parts.power + (parts.power - all(1)) : x;
}

INLINE Vector absolute(Vector x) { return reinterpret_cast<Vector>(reinterpret_cast<Whole>(x) & 0x7fffffff); }

// x with the sign of another number.
INLINE Vector signed_as(Vector x, Vector other) {
  return reinterpret_cast<Vector>(reinterpret_cast<Whole>(x) | (reinterpret_cast<Whole>(other) & static_cast<int>(0x80000000)));
}

INLINE Vector composed_erf(Vector x) {
  static constexpr float NEAR[] = {-5.9642392e-4f, 4.9880072e-3f, -2.6763134e-2f, 1.1281721e-1f, -3.7612486e-1f, 1.2837915e-1f};
  static constexpr float FAR[] = {-1.1527229e-5f, 3.2576837e-4f,  -3.6545240e-3f, 2.3787607e-2f,
                                  -1.0626657e-1f, -6.3513333e-1f, -1.2865292e-1f};
  const Vector square = x * x, size = absolute(x), bounded = size > all(4) ? all(4) : size;
  const Vector near = polynomial(NEAR, square) * x + x;
  const Vector far = all(1) - composed_exp(polynomial(FAR, bounded) * bounded - bounded);
  return size <= all(0.927734375f) ? near : signed_as(far, x);
}

INLINE Vector composed_tanh(Vector x) {
  static constexpr float NEAR[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f};
  const Vector square = x * x, size = absolute(x), twice = size > all(40) ? all(80) : size + size;  // from there on it is 1
  const Vector near = polynomial(NEAR, square) * square * x + x;
  const Vector far = all(1) - all(2) / (composed_exp_to_88(twice) + all(1));
  return size < all(0.625f) ? near : signed_as(far, x);
}

// The natural logarithm; −∞ at 0, no number for negative ones.
INLINE Vector composed_log(Vector x) {
  constexpr float LOG[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,  -1.2420140846e-1f, 1.4249322787e-1f,
                           -1.6668057665e-1f, 2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  constexpr float TINY = 1.1754943508222875e-38f;
  constexpr int ROOT_HALF = 0x3F3504F3;  // the bits of √½
  const Whole bits = reinterpret_cast<Whole>(x >= all(TINY) ? x : all(1)), power = (bits - ROOT_HALF) >> 23;
  const Vector f = reinterpret_cast<Vector>(bits - (power << 23)) - all(1), n = __builtin_convertvector(power, Vector);
  const Vector square = f * f;
  const Vector value = f + (polynomial(LOG, f) * f * square + n * all(-2.12194440e-4f) - all(0.5f) * square) + n * all(0.693359375f);
  const Vector below = x < all(0) ? all(NAN) : all(-INFINITY);
  return x < all(TINY) ? below : x < all(INFINITY) ? value : x;
}

}  // namespace
