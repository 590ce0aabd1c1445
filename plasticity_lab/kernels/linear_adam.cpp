// The step of Adam and AdamW for K linear layers side by side; see linear_step.h.

#include "adam.h"
#include "linear_step.h"

namespace {

void linear_adam(const Tensor& x, const Tensor& delta, const Tensor& numbers, const Tensor& weight,
                 const Tensor& bias, const Tensor& weight1, const Tensor& bias1, const Tensor& weight2,
                 const Tensor& bias2) {
  linear_update<Adam>(x, delta, numbers, {changed(weight), {changed(weight1), changed(weight2)}},
                      {changed(bias), {changed(bias1), changed(bias2)}});
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("linear_adam", TORCH_BOX(&linear_adam)); }
