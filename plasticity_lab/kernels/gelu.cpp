// GELU of many numbers on one core of a CPU, with its slope: the operations of stacking/composed.py in the same order, each rounded
// by itself, so the bits are those of compiled code without this kernel.
//
// Legend: K runs.

#include <cmath>

#include "composed.h"
#include "tensors.h"

namespace {

INLINE Vector absolute(Vector x) { return reinterpret_cast<Vector>(reinterpret_cast<Whole>(x) & 0x7fffffff); }

INLINE Vector erf(Vector x) {
  static constexpr float NEAR[] = {-5.9642392e-4f, 4.9880072e-3f, -2.6763134e-2f, 1.1281721e-1f, -3.7612486e-1f, 1.2837915e-1f};
  static constexpr float FAR[] = {-1.1527229e-5f, 3.2576837e-4f,  -3.6545240e-3f, 2.3787607e-2f,
                                  -1.0626657e-1f, -6.3513333e-1f, -1.2865292e-1f};
  const Vector square = x * x, size = absolute(x), bounded = size > all(4) ? all(4) : size;
  const Vector near = polynomial(NEAR, square) * x + x;
  const Vector far = all(1) - composed_exp(polynomial(FAR, bounded) * bounded - bounded);
  const Whole sign = reinterpret_cast<Whole>(x) & static_cast<int>(0x80000000);
  return size <= all(0.927734375f) ? near : reinterpret_cast<Vector>(reinterpret_cast<Whole>(far) | sign);
}

// GELU at βx, and its slope there.
template <class... Lanes>
INLINE void step(const float* x, Vector beta, float* value, float* slope, Lanes... lanes) {
  const Vector at = beta * load(x, lanes...);
  const Vector below = all(0.5f) * (all(1) + erf(at * all(0.70710678118654752f)));
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
