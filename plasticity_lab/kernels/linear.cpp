// K linear layers side by side on one core of a CPU: the product, its gradient by the input, and one step of Adam by the
// gradient of the weights, which is never laid out in memory whole.
//
// Arithmetic, the same for every vector width and every shape. A sum of products begins with its bias, or with 0, and takes
// the products in the order of their index, each by one fused multiply-add. Everything else is rounded after each operation
// except where `fused` is written; division and square root are the exactly rounded ones. So a run's numbers depend neither
// on its place in a pack nor on its batch's size, nor on whether the processor has AVX2 or AVX-512.
//
// Legend: K runs, B examples, I inputs, O outputs.

#include <cstring>

#include "products.h"
#include "tensors.h"

namespace {

#if defined(__AVX512F__)
constexpr int ROWS = 8, WIDE = 3, NARROW = 2;  // sums that fit into 32 registers; NARROW beside an update
#else
constexpr int ROWS = 6, WIDE = 2, NARROW = 2;  // into 16
#endif

// One step of Adam over some numbers that lie one after another; see stacking/adam.py.
struct Adam {
  const float* gradient = nullptr;
  float *parameter = nullptr, *moment1 = nullptr, *moment2 = nullptr;
  long left = 0;
  float take1, take2, beta2, epsilon, size, correction;

  INLINE void step(Vector g, Vector& p, Vector& m, Vector& v) const {
    m = fused(g - m, all(take1), m);
    v = fused(g * g, all(take2), v * all(beta2));
    p = p - all(size) * m / fused(root(v), all(correction), all(epsilon));
  }
  INLINE void some() {
    if (left < LANES) return;
    Vector p = load(parameter), m = load(moment1), v = load(moment2);
    step(load(gradient), p, m, v);
    store(parameter, p), store(moment1, m), store(moment2, v);
    gradient += LANES, parameter += LANES, moment1 += LANES, moment2 += LANES, left -= LANES;
  }
  INLINE void rest() {
    while (left >= LANES) some();
    if (!left) return;
    const int lanes = left;
    Vector p = load(parameter, lanes), m = load(moment1, lanes), v = load(moment2, lanes);
    step(load(gradient, lanes), p, m, v);
    store(parameter, p, lanes), store(moment1, m, lanes), store(moment2, v, lanes);
    left = 0;
  }
};

// h (K, B, O) = bias (K, 1, O) + x (K, B, I) · weight (K, I, O).
at::Tensor linear(const at::Tensor& x_given, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor x = x_given.contiguous();
  check(x), check(weight), check(bias);
  const long runs = x.size(0), batch = x.size(1), inputs = x.size(2), outputs = weight.size(2);
  at::Tensor h = at::empty({runs, batch, outputs}, x.options());
  Nothing nothing;
  for (long k = 0; k < runs; k++)
    product<ROWS, WIDE>(batch, outputs,
                        {{x.const_data_ptr<float>() + k * batch * inputs, inputs, 1},
                         weight.const_data_ptr<float>() + k * inputs * outputs, outputs, {inputs},
                         bias.const_data_ptr<float>() + k * outputs, 0,
                         h.mutable_data_ptr<float>() + k * batch * outputs, outputs},
                        nothing);
  return h;
}

// The gradient by x (K, B, I) from that by h, delta (K, B, O): delta · weightᵀ, with examples as a vector's lanes.
at::Tensor linear_input(const at::Tensor& delta_given, const at::Tensor& weight) {
  const at::Tensor delta = delta_given.contiguous();
  check(delta), check(weight);
  const long runs = delta.size(0), batch = delta.size(1), outputs = delta.size(2), inputs = weight.size(1);
  at::Tensor gradient = at::empty({runs, batch, inputs}, delta.options());
  std::vector<float> turned(outputs * batch), answer(inputs * batch);
  Nothing nothing;
  for (long k = 0; k < runs; k++) {
    const float* d = delta.const_data_ptr<float>() + k * batch * outputs;
    float* g = gradient.mutable_data_ptr<float>() + k * batch * inputs;
    for (long b = 0; b < batch; b++)
      for (long o = 0; o < outputs; o++) turned[o * batch + b] = d[b * outputs + o];
    product<ROWS, WIDE>(inputs, batch,
                        {{weight.const_data_ptr<float>() + k * inputs * outputs, outputs, 1}, turned.data(), batch, {outputs},
                         nullptr, 0, answer.data(), batch},
                        nothing);
    for (long b = 0; b < batch; b++)
      for (long i = 0; i < inputs; i++) g[b * inputs + i] = answer[i * batch + b];
  }
  return gradient;
}

// The gradients by weight (K, I, O) and bias (K, 1, O): xᵀ · delta and the sum of delta.
std::tuple<at::Tensor, at::Tensor> linear_weight(const at::Tensor& x_given, const at::Tensor& delta_given) {
  const at::Tensor x = x_given.contiguous(), delta = delta_given.contiguous();
  check(x), check(delta);
  const long runs = x.size(0), batch = x.size(1), inputs = x.size(2), outputs = delta.size(2);
  at::Tensor weight = at::empty({runs, inputs, outputs}, x.options()), bias = at::empty({runs, 1, outputs}, x.options());
  Nothing nothing;
  for (long k = 0; k < runs; k++) {
    const float* d = delta.const_data_ptr<float>() + k * batch * outputs;
    product<ROWS, WIDE>(inputs, outputs,
                        {{x.const_data_ptr<float>() + k * batch * inputs, 1, inputs}, d, outputs, {batch}, nullptr, 0,
                         weight.mutable_data_ptr<float>() + k * inputs * outputs, outputs},
                        nothing);
    sum_rows(batch, outputs, d, outputs, bias.mutable_data_ptr<float>() + k * outputs);
  }
  return {weight, bias};
}

// One step of Adam by those gradients, in place. Those of a few rows of the weights are held at a time: while the next rows'
// are multiplied, the rows before are updated. numbers (K, 6): 1 − β₁, 1 − β₂, β₂, ε, lr / (1 − β₁ᵗ), 1 / √(1 − β₂ᵗ).
void linear_adam(const at::Tensor& x_given, const at::Tensor& delta_given, const at::Tensor& numbers, const at::Tensor& weight,
                 const at::Tensor& bias, const at::Tensor& weight1, const at::Tensor& bias1, const at::Tensor& weight2,
                 const at::Tensor& bias2) {
  const at::Tensor x = x_given.contiguous(), delta = delta_given.contiguous();
  check(x), check(delta), check(numbers);
  for (const at::Tensor* each : {&weight, &bias, &weight1, &bias1, &weight2, &bias2}) check(*each);
  const long runs = x.size(0), batch = x.size(1), inputs = x.size(2), outputs = delta.size(2);
  std::vector<float> halves(2 * ROWS * outputs);
  const long padded = (outputs + LANES - 1) / LANES * LANES;
  std::vector<float> lined(batch * padded + LANES);  // a run's delta with rows that begin on a vector's boundary
  float* d = lined.data();
  while (reinterpret_cast<uintptr_t>(d) % sizeof(Vector)) d++;
  for (long k = 0; k < runs; k++) {
    const float* n = numbers.const_data_ptr<float>() + 6 * k;
    const float* xs = x.const_data_ptr<float>() + k * batch * inputs;
    for (long b = 0; b < batch; b++)
      std::memcpy(d + b * padded, delta.const_data_ptr<float>() + (k * batch + b) * outputs, outputs * sizeof(float));
    const long at = k * inputs * outputs;
    Adam adam;
    adam.take1 = n[0], adam.take2 = n[1], adam.beta2 = n[2], adam.epsilon = n[3], adam.size = n[4], adam.correction = n[5];
    float *half = halves.data(), *other = half + ROWS * outputs;
    for (long i = 0; i < inputs; i += ROWS, std::swap(half, other)) {
      const long rows = inputs - i < ROWS ? inputs - i : ROWS;
      product<ROWS, NARROW>(rows, outputs, {{xs + i, 1, inputs}, d, padded, {batch}, nullptr, 0, half, outputs}, adam);
      adam.rest();
      const long from = at + i * outputs;
      adam.gradient = half, adam.left = rows * outputs;
      adam.parameter = weight.mutable_data_ptr<float>() + from;
      adam.moment1 = weight1.mutable_data_ptr<float>() + from;
      adam.moment2 = weight2.mutable_data_ptr<float>() + from;
    }
    sum_rows(batch, outputs, d, padded, half);
    adam.rest();
    adam.gradient = half, adam.left = outputs;
    adam.parameter = bias.mutable_data_ptr<float>() + k * outputs;
    adam.moment1 = bias1.mutable_data_ptr<float>() + k * outputs;
    adam.moment2 = bias2.mutable_data_ptr<float>() + k * outputs;
    adam.rest();
  }
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(plasticity_lab, library) {
  library.def("linear(Tensor x, Tensor weight, Tensor bias) -> Tensor", ANY_LAYOUT);
  library.def("linear_input(Tensor delta, Tensor weight) -> Tensor", ANY_LAYOUT);
  library.def("linear_weight(Tensor x, Tensor delta) -> (Tensor, Tensor)", ANY_LAYOUT);
  library.def(
      "linear_adam(Tensor x, Tensor delta, Tensor numbers, Tensor(a!) weight, Tensor(b!) bias, Tensor(c!) weight1, "
      "Tensor(d!) bias1, Tensor(e!) weight2, Tensor(f!) bias2) -> ()",
      ANY_LAYOUT);
}

TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("linear", linear);
  library.impl("linear_input", linear_input);
  library.impl("linear_weight", linear_weight);
  library.impl("linear_adam", linear_adam);
}

// What these operators are to autograd is said in Python; see linear.py.
TORCH_LIBRARY_IMPL(plasticity_lab, Autograd, library) {
  for (const char* name : {"linear", "linear_input", "linear_weight", "linear_adam"})
    library.impl(name, torch::CppFunction::makeFallthrough());
}
