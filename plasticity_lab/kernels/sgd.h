// The step of SGD for a vector of numbers.
#pragma once

#include "vectors.h"

namespace {

// See stacking/sgd.py.
struct Sgd {
  static constexpr int NUMBERS = 3, MOMENTS = 1;
  static constexpr bool HOLDS = false;
  float lr, momentum, decay;

  explicit Sgd(const float* n) : lr(n[0]), momentum(n[1]), decay(n[2]) {}
  bool leaves() const { return decay == 0; }  // see adam.h
  INLINE void step(Vector g, Vector& p, Vector (&v)[MOMENTS]) const {
    v[0] = v[0] * all(momentum) + (g + all(decay) * p);
    p = p - all(lr) * v[0];
  }
  INLINE void composed(Vector g, Vector& p, Vector (&v)[MOMENTS]) const { step(g, p, v); }  // rounds the same
};

}  // namespace
