// K linear layers side by side on one core of a CPU: the product; see linear.h.
//
// Legend: K runs, B examples, I inputs, O outputs.

#include "linear.h"
#include "tensors.h"

namespace {

// h (K, B, O) = bias (K, 1, O) + x (K, B, I) · weight (K, I, O).
// x (1, B, I) is what all runs are given: its zeros are looked for once.
Tensor linear(const Tensor& x_given, const Tensor& weight, const Tensor& bias) {
  const Tensor x = in_one_piece(x_given);
  check(x), check(weight), check(bias);
  const bool shared = x.size(0) == 1;
  STD_TORCH_CHECK(shared || x.size(0) == weight.size(0), "as many runs of x as of weights are needed, or one");
  const long runs = weight.size(0), batch = x.size(1), inputs = x.size(2), outputs = weight.size(2);
  Tensor h = empty({runs, batch, outputs});
  Sparse few;
  bool are_few = false;
  for (long k = 0; k < runs; k++) {
    const float* xs = x.const_data_ptr<float>() + (shared ? 0 : k * batch * inputs);
    if (batch > 1 && (k == 0 || !shared)) are_few = sparse(xs, batch, inputs, few);
    linear_product(batch, inputs, outputs, xs, are_few ? &few : nullptr, weight.const_data_ptr<float>() + k * inputs * outputs,
                   bias.const_data_ptr<float>() + k * outputs, h.mutable_data_ptr<float>() + k * batch * outputs);
  }
  return h;
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("linear", TORCH_BOX(&linear)); }
