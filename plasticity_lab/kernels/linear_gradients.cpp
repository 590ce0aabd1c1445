// K linear layers side by side on one core of a CPU: the gradients by the input, and by weights and biases; see linear.h. In one
// piece, since they take the same tiles, which take most of the time of compiling.
//
// Legend: K runs, B examples, I inputs, O outputs.

#include "filled.h"
#include "linear.h"
#include "tensors.h"

namespace {

// The gradient by x (K, B, I) from that by h, delta (K, B, O): delta · weightᵀ. What is smaller is turned: the weights, or delta and
// the answer, with examples as a vector's lanes. Both take a sum in the same order.
Tensor linear_input(const Tensor& delta_given, const Tensor& weight) {
  const Tensor delta = in_one_piece(delta_given);
  check(delta), check(weight);
  const long runs = delta.size(0), batch = delta.size(1), outputs = delta.size(2), inputs = weight.size(1);
  Tensor gradient = empty({runs, batch, inputs});
  const bool of_weights = inputs * outputs < batch * (inputs + outputs);
  std::vector<float> turned(of_weights ? inputs * outputs : outputs * batch), answer(of_weights ? 0 : inputs * batch);
  Nothing nothing;
  for (long k = 0; k < runs; k++) {
    const float* d = delta.const_data_ptr<float>() + k * batch * outputs;
    const float* w = weight.const_data_ptr<float>() + k * inputs * outputs;
    float* g = gradient.mutable_data_ptr<float>() + k * batch * inputs;
    if (of_weights) {
      turn(inputs, outputs, w, turned.data());
      product<ROWS, WIDE>(batch, inputs, {{d, outputs, 1}, turned.data(), inputs, {outputs}, nullptr, 0, g, inputs}, nothing);
    } else {
      turn(batch, outputs, d, turned.data());
      product<ROWS, WIDE>(inputs, batch, {{w, outputs, 1}, turned.data(), batch, {outputs}, nullptr, 0, answer.data(), batch},
                          nothing);
      turn(inputs, batch, answer.data(), g);
    }
  }
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
