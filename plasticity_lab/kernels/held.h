// A step of an optimizer together with the work of simple interventions: a penalty that pulls each number towards a fixed one, and a
// bound for its size.
#pragma once

#include <cmath>

#include "vectors.h"

namespace {

template <class Rule>
struct Held : Rule {
  static constexpr bool HOLDS = true;
  bool pulls;
  float pull, bound;

  // pulls: whether there is a penalty of pull · (p − start)²; the step is then the composed one, as it is with any penalty.
  Held(const float* numbers, bool pulls, float pull, float bound) : Rule(numbers), pulls(pulls), pull(pull), bound(bound) {}
  bool leaves() const { return false; }
  INLINE void step(Vector g, Vector& p, Vector (&m)[Rule::MOMENTS], Vector start) const {
    if (pulls) Rule::composed(g + all(2) * (p - start) * all(pull), p, m);
    else Rule::step(g, p, m);
    if (bound < INFINITY) {
      p = p < all(-bound) ? all(-bound) : p;
      p = p > all(bound) ? all(bound) : p;
    }
  }
};

}  // namespace
