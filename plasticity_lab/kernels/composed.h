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

// e^x, x ≤ 0 or no number. n stands in the last bits of x / ln 2 + 1.5 · 2²³.
INLINE Vector composed_exp(Vector x) {
  constexpr float EXP[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
  constexpr float SMALLEST = -87.33654022216797f;
  const Vector inside = x < all(SMALLEST) ? all(SMALLEST) : x;
  const Vector shifted = inside * all(1.4426950408889634f) + all(0x1.8p23f), n = shifted - all(0x1.8p23f);
  const Vector r = inside - n * all(0.693359375f) - n * all(-2.12194440e-4f);
  const Vector found = polynomial(EXP, r) * (r * r) + r + all(1);
  const Whole power = (reinterpret_cast<Whole>(shifted) << 23) + reinterpret_cast<Whole>(all(1));
  return x < all(SMALLEST) ? all(0) : x <= all(0) ? found * reinterpret_cast<Vector>(power) : x;
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
