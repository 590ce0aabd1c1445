// Steps over whole tensors on one core of a CPU, all tensors of a network in one call: Adam and AdamW by given gradients, and target
// networks. The operations are the same as in Python (stacking/adam.py, stacking/adamw.py, agents/target_network.py), in the same
// order, each rounded by itself: the bits of compiled code without these kernels.
//
// Legend: K runs, N numbers of a run.

#include "adam.h"
#include "tensors.h"

namespace {

using Tensors = std::vector<Tensor>;

// The numbers (K, *) of a tensor that is changed, if it is like another one.
float* changed(const Tensor& x, const Tensor& like) {
  check(x);
  STD_TORCH_CHECK(x.numel() == like.numel(), "tensors like each other are needed");
  return x.mutable_data_ptr<float>();
}

// Calls step(i, lanes...) for each vector of `count` numbers. The last one may be a part of a vector.
template <class Step>
INLINE void for_vectors(long count, Step step) {
  long i = 0;
  for (; i + LANES <= count; i += LANES) step(i);
  if (i < count) step(i, static_cast<int>(count - i));
}

// The step of Adam and AdamW.  numbers (K, 7): see `Adam`; gradients, parameters and both moments (K, *).
void adam(const Tensor& numbers, Tensors gradients, Tensors parameters, Tensors first, Tensors second) {
  check(numbers);
  const size_t count = parameters.size();
  STD_TORCH_CHECK(numbers.size(1) == Adam::NUMBERS, "the optimizer's numbers are needed");
  STD_TORCH_CHECK(gradients.size() == count && first.size() == count && second.size() == count, "lists of one length are needed");
  for (size_t at = 0; at < count; at++) {
    const Tensor gradient = in_one_piece(gradients[at]);
    check(gradient);
    const float* g = gradient.const_data_ptr<float>();
    float *p = changed(parameters[at], gradient), *m1 = changed(first[at], gradient), *m2 = changed(second[at], gradient);
    const long runs = gradient.size(0), each = runs ? static_cast<long>(gradient.numel()) / runs : 0;
    STD_TORCH_CHECK(numbers.size(0) == runs, "numbers of each run are needed");
    for (long k = 0; k < runs; k++, g += each, p += each, m1 += each, m2 += each) {
      const Adam rule(numbers.const_data_ptr<float>() + k * Adam::NUMBERS);
      for_vectors(each, [&](long i, auto... lanes) {
        Vector value = load(p + i, lanes...), moments[] = {load(m1 + i, lanes...), load(m2 + i, lanes...)};
        rule.composed(load(g + i, lanes...), value, moments);
        store(p + i, value, lanes...);
        store(m1 + i, moments[0], lanes...);
        store(m2 + i, moments[1], lanes...);
      });
    }
  }
}

// target ← (1 − τ) target + τ online.  tau (K); online and target (K, *).
void follow(const Tensor& tau, Tensors online, Tensors target) {
  check(tau);
  STD_TORCH_CHECK(online.size() == target.size(), "lists of one length are needed");
  for (size_t at = 0; at < target.size(); at++) {
    const Tensor leading = in_one_piece(online[at]);
    check(leading);
    const float* from = leading.const_data_ptr<float>();
    float* to = changed(target[at], leading);
    const long runs = leading.size(0), each = runs ? static_cast<long>(leading.numel()) / runs : 0;
    STD_TORCH_CHECK(tau.size(0) == runs, "a rate of each run is needed");
    for (long k = 0; k < runs; k++, from += each, to += each) {
      const float share = tau.const_data_ptr<float>()[k];
      for_vectors(each, [&](long i, auto... lanes) {
        store(to + i, all(1 - share) * load(to + i, lanes...) + all(share) * load(from + i, lanes...), lanes...);
      });
    }
  }
}

// N tensors (K), float32 or float64 → (K, N) float32.
Tensor table(Tensors numbers) {
  STD_TORCH_CHECK(!numbers.empty(), "numbers are needed");
  const long runs = static_cast<long>(numbers[0].numel()), count = static_cast<long>(numbers.size());
  Tensor made = empty({runs, count});
  float* to = made.mutable_data_ptr<float>();
  for (const Tensor& each : numbers) {
    const Tensor values = in_one_piece(each);
    const bool wide = values.scalar_type() == ScalarType::Double;
    if (!wide) check(values);
    STD_TORCH_CHECK(values.numel() == runs, "a number of each run is needed");
    for (long k = 0; k < runs; k++)
      to[k * count] = wide ? static_cast<float>(values.const_data_ptr<double>()[k]) : values.const_data_ptr<float>()[k];
    to++;
  }
  return made;
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("adam", TORCH_BOX(&adam));
  library.impl("follow", TORCH_BOX(&follow));
  library.impl("table", TORCH_BOX(&table));
}
