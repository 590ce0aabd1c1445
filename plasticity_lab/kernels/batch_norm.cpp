// Batch normalisation with a scale and a shift, on one core of a CPU, and its gradients.
//
// A sum over rows is taken example by example, within an example in PARTS parts that are added up one after another: its order
// depends on the numbers of examples and rows alone. Examples with weight 0 are no part of mean and variance.
//
// Legend: K runs, B examples, R rows, B times the pixels of an example, C channels.

#include "tensors.h"
#include "vectors.h"

namespace {

constexpr int PARTS = 8;

// The sum of value(row) over all rows, each example's sum times its factor.
template <class Value, class Factor>
INLINE Vector summed(long examples, long pixels, Value value, Factor factor) {
  Vector total = all(0);
  for (long b = 0; b < examples; b++) {
    const float share = factor(b);
    if (share == 0) continue;
    const long first = b * pixels, last = first + pixels;
    Vector parts[PARTS] = {};
    long r = first;
    for (; r + PARTS <= last; r += PARTS)
      UNROLLED for (int part = 0; part < PARTS; part++) parts[part] += value(r + part);
    for (; r < last; r++) parts[0] += value(r);
    for (int part = 1; part < PARTS; part++) parts[0] += parts[part];
    total += parts[0] * all(share);
  }
  return total;
}

// work(from which channel on, and of how many channels if not of LANES) for each vector of channels.
template <class Work>
void each_block(long channels, Work work) {
  long c = 0;
  for (; c + LANES <= channels; c += LANES) work(c);
  if (c < channels) work(c, static_cast<int>(channels - c));
}

struct Sizes {
  long runs, rows, channels, examples, pixels;
  Sizes(const Tensor& x, const Tensor& weights)
      : runs(x.size(0)), rows(x.size(1)), channels(x.size(2)), examples(weights.size(0)), pixels(rows / examples) {}
};

// x (K, R, C), weights (B), scale and shift (K, 1, C) → the result (K, R, C), mean and variance (K, 1, C).
std::tuple<Tensor, Tensor, Tensor> batch_norm(const Tensor& x_given, const Tensor& weights_given, const Tensor& scale_given,
                                              const Tensor& shift_given, double epsilon) {
  const Tensor x = in_one_piece(x_given), weights = in_one_piece(weights_given), scale = in_one_piece(scale_given),
               shift = in_one_piece(shift_given);
  check(x), check(weights), check(scale), check(shift);
  const Sizes of(x, weights);
  Tensor found = empty({of.runs, of.rows, of.channels}), mean = empty({of.runs, 1, of.channels}),
         variance = empty({of.runs, 1, of.channels});
  const float* weight = weights.const_data_ptr<float>();
  const auto share = [&](long b) { return weight[b] / of.pixels; };
  for (long k = 0; k < of.runs; k++)
    each_block(of.channels, [&](long c, auto... lanes) {
      const long at = k * of.channels + c;
      const float* from = x.const_data_ptr<float>() + k * of.rows * of.channels + c;
      float* to = found.mutable_data_ptr<float>() + k * of.rows * of.channels + c;
      const Vector middle =
          summed(of.examples, of.pixels, [&](long r) { return load(from + r * of.channels, lanes...); }, share);
      const Vector spread = summed(of.examples, of.pixels, [&](long r) {
        const Vector off = load(from + r * of.channels, lanes...) - middle;
        return off * off;
      }, share);
      store(mean.mutable_data_ptr<float>() + at, middle, lanes...);
      store(variance.mutable_data_ptr<float>() + at, spread, lanes...);
      const Vector factor = load(scale.const_data_ptr<float>() + at, lanes...) / root(spread + all(epsilon)),
                   added = load(shift.const_data_ptr<float>() + at, lanes...);
      for (long r = 0; r < of.rows; r++)
        store(to + r * of.channels, fused(load(from + r * of.channels, lanes...) - middle, factor, added), lanes...);
    });
  return {found, mean, variance};
}

// The gradients by x (K, R, C), by scale and by shift (K, 1, C), from the gradient by the result.
std::tuple<Tensor, Tensor, Tensor> batch_norm_inputs(const Tensor& delta_given, const Tensor& x_given,
                                                     const Tensor& weights_given, const Tensor& scale_given,
                                                     const Tensor& mean, const Tensor& variance, double epsilon) {
  const Tensor delta = in_one_piece(delta_given), x = in_one_piece(x_given), weights = in_one_piece(weights_given),
               scale = in_one_piece(scale_given);
  check(delta), check(x), check(weights), check(scale), check(mean), check(variance);
  const Sizes of(x, weights);
  Tensor by_x = empty({of.runs, of.rows, of.channels}), by_scale = empty({of.runs, 1, of.channels}),
         by_shift = empty({of.runs, 1, of.channels});
  const float* weight = weights.const_data_ptr<float>();
  const auto once = [](long) { return 1.0f; };
  for (long k = 0; k < of.runs; k++)
    each_block(of.channels, [&](long c, auto... lanes) {
      const long at = k * of.channels + c, first = k * of.rows * of.channels + c;
      const float *from = x.const_data_ptr<float>() + first, *by = delta.const_data_ptr<float>() + first;
      float* to = by_x.mutable_data_ptr<float>() + first;
      const Vector middle = load(mean.const_data_ptr<float>() + at, lanes...);
      const Vector less = all(1) / root(load(variance.const_data_ptr<float>() + at, lanes...) + all(epsilon));
      const Vector all_of =
          summed(of.examples, of.pixels, [&](long r) { return load(by + r * of.channels, lanes...); }, once);
      const Vector along = less * summed(of.examples, of.pixels, [&](long r) {
        return load(by + r * of.channels, lanes...) * (load(from + r * of.channels, lanes...) - middle);
      }, once);
      store(by_scale.mutable_data_ptr<float>() + at, along, lanes...);
      store(by_shift.mutable_data_ptr<float>() + at, all_of, lanes...);
      const Vector factor = load(scale.const_data_ptr<float>() + at, lanes...) * less, slope = along * less;
      for (long b = 0; b < of.examples; b++) {
        const Vector share = all(weight[b] / of.pixels);
        for (long r = b * of.pixels; r < (b + 1) * of.pixels; r++) {
          const Vector off = load(from + r * of.channels, lanes...) - middle;
          const Vector taken = share * fused(off, slope, all_of);
          store(to + r * of.channels, factor * (load(by + r * of.channels, lanes...) - taken), lanes...);
        }
      }
    });
  return {by_x, by_scale, by_shift};
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("batch_norm", TORCH_BOX(&batch_norm));
  library.impl("batch_norm_inputs", TORCH_BOX(&batch_norm_inputs));
}
