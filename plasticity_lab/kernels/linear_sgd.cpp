// The step of SGD for K linear layers side by side; see linear_step.h.

#include "sgd.h"
#include "linear_step.h"

namespace {

void linear_sgd(const Tensor& x, const Tensor& delta, const Tensor& numbers, const Tensor& weight,
                const Tensor& bias, const Tensor& weight1, const Tensor& bias1) {
  linear_update<Sgd>(x, delta, numbers, {changed(weight), {changed(weight1)}}, {changed(bias), {changed(bias1)}});
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("linear_sgd", TORCH_BOX(&linear_sgd)); }
