// K linear layers side by side on one core of a CPU: the product, its gradient by the input, and one step of an optimizer by the
// gradient of the weights, which is never laid out in memory whole.
//
// Arithmetic, the same for every vector width and every shape. A sum of products begins with its bias, or with 0, and takes
// the products in the order of their index, each by one fused multiply-add; where most inputs are 0, their products are left out,
// which changes no number (sparse.h). Everything else is rounded after each operation
// except where `fused` is written; division and square root are the exactly rounded ones. So a run's numbers depend neither
// on its place in a pack nor on its batch's size, nor on whether the processor has AVX2 or AVX-512.
//
// Legend: K runs, B examples, I inputs, O outputs.

#include <cstring>

#include "filled.h"
#include "tensors.h"

namespace {

#if defined(__AVX512F__)
constexpr int ROWS = 8, WIDE = 3, NARROW = 2, LONG = 16;  // sums that fit into 32 registers; NARROW beside an update
#else
constexpr int ROWS = 6, WIDE = 2, NARROW = 2, LONG = 8;  // into 16
#endif
// LONG: of a single row, for which each weight is read once: the more of them lie next to each other, the better.
constexpr int PANEL = 8;        // of a row of a product that leaves out zeros
constexpr int MANY = 4 * ROWS;  // rows of such a product that are held at a time

// Steps of optimizers: numbers of a run, which are data, and what becomes of some parameters p by their gradients g.

// See stacking/adam.py, stacking/adamw.py. Its numbers: 1 − β₁, 1 − β₂, β₂, ε, lr / (1 − β₁ᵗ), 1 / √(1 − β₂ᵗ), and what weight
// decay leaves of p: 1 where there is none, by which a product is exact.
struct Adam {
  static constexpr int NUMBERS = 7, MOMENTS = 2;
  float take1, take2, beta2, epsilon, size, correction, kept;

  explicit Adam(const float* n)
      : take1(n[0]), take2(n[1]), beta2(n[2]), epsilon(n[3]), size(n[4]), correction(n[5]), kept(n[6]) {}
  INLINE void step(Vector g, Vector& p, Vector (&m)[MOMENTS]) const {
    m[0] = fused(g - m[0], all(take1), m[0]);
    m[1] = fused(g * g, all(take2), m[1] * all(beta2));
    p = p * all(kept) - all(size) * m[0] / fused(root(m[1]), all(correction), all(epsilon));
  }
};

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

// A step over some numbers that lie one after another, a vector at a time.
template <class Rule>
struct Update {
  Rule rule;
  const float* gradient = nullptr;
  float* parameter = nullptr;
  float* moments[Rule::MOMENTS] = {};
  long left = 0;

  template <class... Lanes>
  INLINE void take(Lanes... lanes) {
    Vector p = load(parameter, lanes...), m[Rule::MOMENTS];
    UNROLLED for (int i = 0; i < Rule::MOMENTS; i++) m[i] = load(moments[i], lanes...);
    rule.step(load(gradient, lanes...), p, m);
    store(parameter, p, lanes...);
    UNROLLED for (int i = 0; i < Rule::MOMENTS; i++) store(moments[i], m[i], lanes...);
  }
  INLINE void some() {
    if (left < LANES) return;
    take();
    gradient += LANES, parameter += LANES, left -= LANES;
    UNROLLED for (int i = 0; i < Rule::MOMENTS; i++) moments[i] += LANES;
  }
  INLINE void rest() {
    Update own = *this;  // stays in registers
    while (own.left >= LANES) own.some();
    if (own.left) own.take(static_cast<int>(own.left));
    left = 0;
  }
};

// h (K, B, O) = bias (K, 1, O) + x (K, B, I) · weight (K, I, O).
// x (1, B, I) is what all runs are given: its zeros are looked for once.
at::Tensor linear(const at::Tensor& x_given, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor x = x_given.contiguous();
  check(x), check(weight), check(bias);
  const bool shared = x.size(0) == 1;
  TORCH_CHECK(shared || x.size(0) == weight.size(0), "as many runs of x as of weights are needed, or one");
  const long runs = weight.size(0), batch = x.size(1), inputs = x.size(2), outputs = weight.size(2);
  at::Tensor h = at::empty({runs, batch, outputs}, x.options());
  Nothing nothing;
  Sparse few;
  bool are_few = false;
  for (long k = 0; k < runs; k++) {
    const float* xs = x.const_data_ptr<float>() + (shared ? 0 : k * batch * inputs);
    if (batch > 1 && (k == 0 || !shared)) are_few = sparse(xs, batch, inputs, few);
    const Product own{{xs, inputs, 1},
                      weight.const_data_ptr<float>() + k * inputs * outputs, outputs, {inputs},
                      bias.const_data_ptr<float>() + k * outputs, 0,
                      h.mutable_data_ptr<float>() + k * batch * outputs, outputs};
    if (batch == 1) product<1, LONG>(1, outputs, own, nothing);
    else if (are_few) sparse_product<PANEL>(few, outputs, own);
    else deep_product<ROWS, WIDE>(batch, outputs, own);
  }
  return h;
}

// The gradient by x (K, B, I) from that by h, delta (K, B, O): delta · weightᵀ. What is smaller is turned: the weights, or delta and
// the answer, with examples as a vector's lanes. Both take a sum in the same order.
at::Tensor linear_input(const at::Tensor& delta_given, const at::Tensor& weight) {
  const at::Tensor delta = delta_given.contiguous();
  check(delta), check(weight);
  const long runs = delta.size(0), batch = delta.size(1), outputs = delta.size(2), inputs = weight.size(1);
  at::Tensor gradient = at::empty({runs, batch, inputs}, delta.options());
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
std::tuple<at::Tensor, at::Tensor> linear_weight(const at::Tensor& x_given, const at::Tensor& delta_given) {
  const at::Tensor x = x_given.contiguous(), delta = delta_given.contiguous();
  check(x), check(delta);
  const long runs = x.size(0), batch = x.size(1), inputs = x.size(2), outputs = delta.size(2);
  at::Tensor weight = at::empty({runs, inputs, outputs}, x.options()), bias = at::empty({runs, 1, outputs}, x.options());
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

// A layer's weights or biases, and moments of it, all (K, ...).
template <class Rule>
struct Learned {
  float* parameter;
  float* moments[Rule::MOMENTS];
};

float* changed(const at::Tensor& x) {
  check(x);
  return x.mutable_data_ptr<float>();
}

// Room for some numbers that begins on a vector's boundary.
struct Room {
  std::vector<float> room;
  float* begin;

  explicit Room(long count) : room(count + LANES), begin(room.data()) {
    while (reinterpret_cast<uintptr_t>(begin) % sizeof(Vector)) begin++;
  }
};

// One step of an optimizer by those gradients, in place, of which those of a few rows of the weights are held at a time. While the
// next rows' are multiplied, the rows before are updated: between products, or where most inputs are 0 between rows.
// numbers (K, NUMBERS).
template <class Rule>
void linear_update(const at::Tensor& x_given, const at::Tensor& delta_given, const at::Tensor& numbers, Learned<Rule> weight,
                   Learned<Rule> bias) {
  const at::Tensor x = x_given.contiguous(), delta = delta_given.contiguous();
  check(x), check(delta), check(numbers);
  const long runs = x.size(0), batch = x.size(1), inputs = x.size(2), outputs = delta.size(2);
  const float *all_x = x.const_data_ptr<float>(), *all_delta = delta.const_data_ptr<float>();
  const long padded = (outputs + LANES - 1) / LANES * LANES;
  const Room halves(2 * MANY * outputs), lined(batch * padded);  // a run's delta with rows that begin on a vector's boundary
  float* d = lined.begin;
  Filled few;
  for (long k = 0; k < runs; k++) {
    const float* xs = all_x + k * batch * inputs;
    for (long b = 0; b < batch; b++) std::memcpy(d + b * padded, all_delta + (k * batch + b) * outputs, outputs * sizeof(float));
    Update<Rule> update{Rule(numbers.const_data_ptr<float>() + Rule::NUMBERS * k)};
    const auto begin = [&](const Learned<Rule>& of, long from, const float* gradient, long count) {
      update.gradient = gradient, update.left = count, update.parameter = of.parameter + from;
      for (int i = 0; i < Rule::MOMENTS; i++) update.moments[i] = of.moments[i] + from;
    };
    const bool are_few = filled(xs, batch, inputs, few);
    const long at_once = are_few ? MANY : ROWS;
    float *half = halves.begin, *other = half + at_once * outputs;
    for (long i = 0; i < inputs; i += at_once) {
      const long rows = std::min(at_once, inputs - i), from = (k * inputs + i) * outputs;
      const Product own{{xs + i, 1, inputs}, d, padded, {batch}, nullptr, 0, half, outputs};
      if (are_few) {
        filled_product<PANEL>(few, i, rows, outputs, own, update);
      } else {
        product<ROWS, NARROW>(rows, outputs, own, update);
      }
      update.rest();
      begin(weight, from, half, rows * outputs);
      std::swap(half, other);
    }
    sum_rows(batch, outputs, d, padded, half);
    update.rest();
    begin(bias, k * outputs, half, outputs);
    update.rest();
  }
}

void linear_adam(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& numbers, const at::Tensor& weight,
                 const at::Tensor& bias, const at::Tensor& weight1, const at::Tensor& bias1, const at::Tensor& weight2,
                 const at::Tensor& bias2) {
  linear_update<Adam>(x, delta, numbers, {changed(weight), {changed(weight1), changed(weight2)}},
                      {changed(bias), {changed(bias1), changed(bias2)}});
}

void linear_sgd(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& numbers, const at::Tensor& weight,
                const at::Tensor& bias, const at::Tensor& weight1, const at::Tensor& bias1) {
  linear_update<Sgd>(x, delta, numbers, {changed(weight), {changed(weight1)}}, {changed(bias), {changed(bias1)}});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(plasticity_lab, library) {
  library.def("linear(Tensor x, Tensor weight, Tensor bias) -> Tensor", SAME_LAYOUT);
  library.def("linear_input(Tensor delta, Tensor weight) -> Tensor", SAME_LAYOUT);
  library.def("linear_weight(Tensor x, Tensor delta) -> (Tensor, Tensor)", SAME_LAYOUT);
  library.def(
      "linear_adam(Tensor x, Tensor delta, Tensor numbers, Tensor(a!) weight, Tensor(b!) bias, Tensor(c!) weight1, "
      "Tensor(d!) bias1, Tensor(e!) weight2, Tensor(f!) bias2) -> ()",
      ANY_LAYOUT);
  library.def(
      "linear_sgd(Tensor x, Tensor delta, Tensor numbers, Tensor(a!) weight, Tensor(b!) bias, Tensor(c!) weight1, "
      "Tensor(d!) bias1) -> ()",
      ANY_LAYOUT);
}

TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("linear", linear);
  library.impl("linear_input", linear_input);
  library.impl("linear_weight", linear_weight);
  library.impl("linear_adam", linear_adam);
  library.impl("linear_sgd", linear_sgd);
}

// What these operators are to autograd is said in Python; see linear.py.
TORCH_LIBRARY_IMPL(plasticity_lab, Autograd, library) {
  for (const char* name : {"linear", "linear_input", "linear_weight", "linear_adam", "linear_sgd"})
    library.impl(name, torch::CppFunction::makeFallthrough());
}
