// K linear layers side by side on one core of a CPU: the gradients by the input, and by weights and biases; see linear.h. In one
// piece, since they take the same tiles, which take most of the time of compiling.
//
// Legend: K runs, B examples, I inputs, O outputs.

#include "filled.h"
#include "linear.h"
#include "linear_input.h"
#include "tensors.h"

namespace {

// The gradient by x (K, B, I) from that by h, delta (K, B, O): delta · weightᵀ.
Tensor linear_input(const Tensor& delta_given, const Tensor& weight) {
  const Tensor delta = in_one_piece(delta_given);
  check(delta), check(weight);
  const long runs = delta.size(0), batch = delta.size(1), outputs = delta.size(2), inputs = weight.size(1);
  Tensor gradient = empty({runs, batch, inputs});
  std::vector<float> room(room_to_turn(batch, inputs, outputs));
  for (long k = 0; k < runs; k++)
    gradient_by_input(batch, inputs, outputs, outputs, delta.const_data_ptr<float>() + k * batch * outputs,
                      weight.const_data_ptr<float>() + k * inputs * outputs,
                      gradient.mutable_data_ptr<float>() + k * batch * inputs, room.data());
  return gradient;
}

// The gradients by weight (K, I, O) and bias (K, 1, O): xᵀ · delta and the sum of delta.
std::tuple<Tensor, Tensor> linear_weight(const Tensor& x_given, const Tensor& delta_given) {
  const Tensor x = in_one_piece(x_given), delta = in_one_piece(delta_given);
  check(x), check(delta);
  const long runs = x.size(0), batch = x.size(1), inputs = x.size(2), outputs = delta.size(2);
  Tensor weight = empty({runs, inputs, outputs}), bias = empty({runs, 1, outputs});
  Nothing nothing;
  Filled few;
  for (long k = 0; k < runs; k++) {
    const float *xs = x.const_data_ptr<float>() + k * batch * inputs, *d = delta.const_data_ptr<float>() + k * batch * outputs;
    const Product own{{xs, 1, inputs}, d, outputs, {batch}, nullptr, 0,
                      weight.mutable_data_ptr<float>() + k * inputs * outputs, outputs};
    if (filled(xs, batch, inputs, few)) filled_product<PANEL>(few, 0, inputs, outputs, own, nothing);
    else product<ROWS, WIDE>(inputs, outputs, own, nothing);
    sum_rows(batch, outputs, d, outputs, bias.mutable_data_ptr<float>() + k * outputs);
  }
  return {weight, bias};
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("linear_input", TORCH_BOX(&linear_input));
  library.impl("linear_weight", TORCH_BOX(&linear_weight));
}
