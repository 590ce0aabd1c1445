// GELU of many numbers on one core of a CPU, with its slope: the operations of stacking/composed.py in the same order, each rounded
// by itself, so the bits are those of compiled code without this kernel.
//
// Legend: K runs.

#include <cmath>

#include "composed.h"
#include "tensors.h"

namespace {

// GELU at βx, and its slope there.
template <class... Lanes>
INLINE void step(const float* x, Vector beta, float* value, float* slope, Lanes... lanes) {
  const Vector at = beta * load(x, lanes...);
  const Vector below = all(0.5f) * (all(1) + composed_erf(at * all(0.70710678118654752f)));
  const Vector density = composed_exp(all(-0.5f) * at * at) * all(0.39894228040143268f);
  store(value, at * below, lanes...);
  store(slope, absolute(at) < all(INFINITY) ? below + at * density : all(0), lanes...);
}

// x (K, *), beta (K) → GELU(βx) and its slope at βx, like x.
std::tuple<Tensor, Tensor> gelu(const Tensor& x_given, const Tensor& beta_given) {
  const Tensor x = in_one_piece(x_given), beta = in_one_piece(beta_given);
  check(x), check(beta);
  const long runs = x.size(0), each = runs ? static_cast<long>(x.numel()) / runs : 0;
  Tensor value = torch::stable::empty_like(x), slope = torch::stable::empty_like(x);
  for (long k = 0; k < runs; k++) {
    const float* from = x.const_data_ptr<float>() + k * each;
    float *to = value.mutable_data_ptr<float>() + k * each, *by = slope.mutable_data_ptr<float>() + k * each;
    const Vector factor = all(beta.const_data_ptr<float>()[k]);
    long i = 0;
    for (; i + LANES <= each; i += LANES) step(from + i, factor, to + i, by + i);
    if (i < each) step(from + i, factor, to + i, by + i, static_cast<int>(each - i));
  }
  return {value, slope};
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("gelu", TORCH_BOX(&gelu)); }
