// e^x, and the larger of two numbers, of a vector: the same bits whether it has 8 lanes or 16.
#pragma once

#include <initializer_list>

#include "vectors.h"

namespace {

INLINE Vector larger(Vector one, Vector other) { return one > other ? one : other; }

// e^x, x ≤ 0, off by one or two in the last place: 2ⁿ · e^r with n whole and |r| ≤ ½ ln 2; 0 where that is no normal number.
// n stands in the last bits of x / ln 2 + 1.5 · 2²³.
INLINE Vector power_of_e(Vector x) {
  const Vector shifted = fused(x, all(1.44269504088896341f), all(0x1.8p23f)), n = shifted - all(0x1.8p23f);
  const Vector r = fused(n, all(2.12194440e-4f), fused(n, all(-0.693359375f), x));
  Vector found = all(1.9875691500e-4f);  // Cephes' expf
  for (const float each : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    found = fused(found, r, all(each));
  found = fused(found * r, r, r) + all(1);
  const Whole power = (reinterpret_cast<Whole>(shifted) << 23) + reinterpret_cast<Whole>(all(1));
  return x < all(-87.33654022216797f) ? all(0) : found * reinterpret_cast<Vector>(power);
}

}  // namespace
