// The step of SGD for K linear layers side by side; see linear_step.h.

#include "linear_step.h"

namespace {

// See stacking/sgd.py.
struct Sgd {
  static constexpr int NUMBERS = 3, MOMENTS = 1;
  float lr, momentum, decay;

  explicit Sgd(const float* n) : lr(n[0]), momentum(n[1]), decay(n[2]) {}
  INLINE void step(Vector g, Vector& p, Vector (&v)[MOMENTS]) const {
    v[0] = v[0] * all(momentum) + (g + all(decay) * p);
    p = p - all(lr) * v[0];
  }
};

void linear_sgd(const Tensor& x, const Tensor& delta, const Tensor& numbers, const Tensor& weight,
                const Tensor& bias, const Tensor& weight1, const Tensor& bias1) {
  linear_update<Sgd>(x, delta, numbers, {changed(weight), {changed(weight1)}}, {changed(bias), {changed(bias1)}});
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("linear_sgd", TORCH_BOX(&linear_sgd)); }
