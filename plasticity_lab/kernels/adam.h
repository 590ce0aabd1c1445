// The step of Adam and AdamW for a vector of numbers.
#pragma once

#include "vectors.h"

namespace {

// See stacking/adam.py, stacking/adamw.py. Its numbers: 1 − β₁, 1 − β₂, β₂, ε, lr / (1 − β₁ᵗ), 1 / √(1 − β₂ᵗ), and what weight
// decay leaves of p: 1 where there is none, by which a product is exact.
struct Adam {
  static constexpr int NUMBERS = 7, MOMENTS = 2;
  static constexpr bool HOLDS = false;
  float take1, take2, beta2, epsilon, size, correction, kept;

  explicit Adam(const float* n)
      : take1(n[0]), take2(n[1]), beta2(n[2]), epsilon(n[3]), size(n[4]), correction(n[5]), kept(n[6]) {}
  // Whether a step leaves p as it is if its gradient and its moments are 0.
  bool leaves() const { return kept == 1; }
  INLINE void step(Vector g, Vector& p, Vector (&m)[MOMENTS]) const {
    m[0] = fused(g - m[0], all(take1), m[0]);
    m[1] = fused(g * g, all(take2), m[1] * all(beta2));
    p = p * all(kept) - all(size) * m[0] / fused(root(m[1]), all(correction), all(epsilon));
  }
  // The same by `Adam.composed`, with each operation rounded.
  INLINE void composed(Vector g, Vector& p, Vector (&m)[MOMENTS]) const {
    m[0] = m[0] + (g - m[0]) * all(take1);
    m[1] = m[1] * all(beta2) + g * g * all(take2);
    p = p * all(kept) - all(size) * m[0] / (root(m[1]) * all(correction) + all(epsilon));
  }
};

}  // namespace
