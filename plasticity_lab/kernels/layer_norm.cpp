// Normalisation of each row to mean 0 and variance 1, with a scale and a shift, on one core of a CPU, and its gradients.
//
// A sum along a row is taken as sums.h says; a sum over rows ROWS rows at a time: their order depends on the shape alone.
//
// Legend: K runs, R rows, C numbers of a row.

#include "sums.h"
#include "tensors.h"

namespace {

constexpr long ROWS = 64;

// Room for a row whose end is filled up to a multiple of PARTS. A row that ends there already is read and written in its place.
struct Row {
  long count, filled;
  std::vector<float> numbers;
  explicit Row(long columns) : count(columns), filled((columns + PARTS - 1) / PARTS * PARTS), numbers(filled) {}
  const float* read(const float* from, float end) {
    if (count == filled) return from;
    std::copy_n(from, count, numbers.data());
    std::fill(numbers.begin() + count, numbers.end(), end);
    return numbers.data();
  }
  float* place(float* to) { return count == filled ? to : numbers.data(); }
  void write(float* to) const {
    if (count != filled) std::copy_n(numbers.data(), count, to);
  }
};

// x (K, R, C), scale and shift (K, 1, C) → the result (K, R, C), mean and variance of each row (K, R, 1).
std::tuple<Tensor, Tensor, Tensor> layer_norm(const Tensor& x_given, const Tensor& scale_given, const Tensor& shift_given,
                                              double epsilon) {
  const Tensor x = in_one_piece(x_given), scale = in_one_piece(scale_given), shift = in_one_piece(shift_given);
  check(x), check(scale), check(shift);
  const long runs = x.size(0), rows = x.size(1), columns = x.size(2);
  Tensor found = empty({runs, rows, columns}), mean = empty({runs, rows, 1}), variance = empty({runs, rows, 1});
  const float* all_x = x.const_data_ptr<float>();
  float *all_found = found.mutable_data_ptr<float>(), *means = mean.mutable_data_ptr<float>(),
        *variances = variance.mutable_data_ptr<float>();
  Row row(columns), result(columns), of_scale(columns), of_shift(columns);
  for (long k = 0; k < runs; k++) {
    const float *factor = of_scale.read(scale.const_data_ptr<float>() + k * columns, 0),
                *added = of_shift.read(shift.const_data_ptr<float>() + k * columns, 0);
    for (long r = k * rows; r < (k + 1) * rows; r++) {
      const float *from = all_x + r * columns, *at = row.read(from, 0);
      Parts total(0), squares(0);
      each_part(total, row.filled, [&](Vector& part, long i) { part += load(at + i); });
      const float middle = sum_of(total) / columns;
      at = row.read(from, middle);
      each_part(squares, row.filled, [&](Vector& part, long i) {
        const Vector off = load(at + i) - all(middle);
        part = fused(off, off, part);
      });
      const float spread = sum_of(squares) / columns;
      const Vector less = all(1) / root(all(spread) + all(epsilon));
      float *to = all_found + r * columns, *place = result.place(to);
      for (long i = 0; i < row.filled; i += LANES)
        store(place + i, fused((load(at + i) - all(middle)) * less, load(factor + i), load(added + i)));
      result.write(to);
      means[r] = middle, variances[r] = spread;
    }
  }
  return {found, mean, variance};
}

// The gradients by x (K, R, C), by scale and by shift (K, 1, C), from the gradient by the result.
std::tuple<Tensor, Tensor, Tensor> layer_norm_inputs(const Tensor& delta_given, const Tensor& x_given,
                                                     const Tensor& scale_given, const Tensor& mean,
                                                     const Tensor& variance, double epsilon) {
  const Tensor delta = in_one_piece(delta_given), x = in_one_piece(x_given), scale = in_one_piece(scale_given);
  check(delta), check(x), check(scale), check(mean), check(variance);
  const long runs = x.size(0), rows = x.size(1), columns = x.size(2);
  Tensor by_x = empty({runs, rows, columns}), by_scale = empty({runs, 1, columns}), by_shift = empty({runs, 1, columns});
  const float *all_x = x.const_data_ptr<float>(), *all_delta = delta.const_data_ptr<float>(),
              *means = mean.const_data_ptr<float>(), *variances = variance.const_data_ptr<float>();
  float* all_found = by_x.mutable_data_ptr<float>();
  Row row(columns), by(columns), result(columns), of_scale(columns);
  for (long k = 0; k < runs; k++) {
    const float* factor = of_scale.read(scale.const_data_ptr<float>() + k * columns, 0);
    std::vector<float> scales(row.filled), shifts(row.filled), some_scales(row.filled), some_shifts(row.filled);
    for (long r = 0; r < rows; r++) {
      const long at = k * rows + r;
      const float middle = means[at];
      const Vector less = all(1) / root(all(variances[at]) + all(epsilon));
      const float *from = row.read(all_x + at * columns, middle), *given = by.read(all_delta + at * columns, 0);
      const auto own = [&](long i) { return (load(from + i) - all(middle)) * less; };
      Parts along(0), total(0);
      for (long i = 0; i < row.filled; i += PARTS)
        UNROLLED for (int j = 0; j < PARTS / LANES; j++) {
          const long z = i + j * LANES;
          const Vector number = own(z), d = load(given + z), scaled = d * load(factor + z);
          store(&some_scales[z], fused(d, number, load(&some_scales[z])));
          store(&some_shifts[z], load(&some_shifts[z]) + d);
          along.of[j] = fused(scaled, number, along.of[j]);
          total.of[j] += scaled;
        }
      const Vector share = all(sum_of(along) / columns), middle_of = all(sum_of(total) / columns);
      float *to = all_found + at * columns, *place = result.place(to);
      for (long i = 0; i < row.filled; i += LANES)
        store(place + i, less * (load(given + i) * load(factor + i) - middle_of - own(i) * share));
      result.write(to);
      if (r % ROWS == ROWS - 1 || r == rows - 1)
        for (long i = 0; i < row.filled; i += LANES) {
          store(&scales[i], load(&scales[i]) + load(&some_scales[i])), store(&some_scales[i], all(0));
          store(&shifts[i], load(&shifts[i]) + load(&some_shifts[i])), store(&some_shifts[i], all(0));
        }
    }
    std::copy_n(scales.data(), columns, by_scale.mutable_data_ptr<float>() + k * columns);
    std::copy_n(shifts.data(), columns, by_shift.mutable_data_ptr<float>() + k * columns);
  }
  return {by_x, by_scale, by_shift};
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("layer_norm", TORCH_BOX(&layer_norm));
  library.impl("layer_norm_inputs", TORCH_BOX(&layer_norm_inputs));
}
