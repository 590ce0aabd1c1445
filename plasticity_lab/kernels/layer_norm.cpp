// Normalisation of each row to mean 0 and variance 1, with a scale and a shift, on one core of a CPU, and its gradients.
//
// A sum along a row is taken in PARTS parts that are added up one after another; a sum over rows ROWS rows at a time: their order
// depends on the shape alone.
//
// Legend: K runs, R rows, C numbers of a row.

#include "tensors.h"
#include "vectors.h"

namespace {

constexpr int PARTS = 16;
constexpr long ROWS = 64;

// The sum of at(i) over 0 … count − 1, count a multiple of PARTS.
template <class At>
INLINE float sum_of(long count, At at) {
  Vector parts[PARTS / LANES] = {};
  for (long i = 0; i < count; i += PARTS)
    UNROLLED for (int j = 0; j < PARTS / LANES; j++) parts[j] += at(i + j * LANES);
  float total = 0;
  for (const Vector& part : parts)
    for (int lane = 0; lane < LANES; lane++) total += part[lane];
  return total;
}

// A row whose end is filled up to a multiple of PARTS.
struct Row {
  long count, filled;
  std::vector<float> numbers;
  explicit Row(long columns) : count(columns), filled((columns + PARTS - 1) / PARTS * PARTS), numbers(filled) {}
  void copy(const float* from) { std::copy_n(from, count, numbers.data()); }
  void fill(float end) { std::fill(numbers.begin() + count, numbers.end(), end); }
  Vector at(long i) const { return load(numbers.data() + i); }
  void put(long i, Vector x) { store(numbers.data() + i, x); }
  float sum() const {
    return sum_of(filled, [&](long i) { return at(i); });
  }
};

// x (K, R, C), scale and shift (K, 1, C) → the result (K, R, C), mean and variance of each row (K, R, 1).
std::tuple<Tensor, Tensor, Tensor> layer_norm(const Tensor& x_given, const Tensor& scale_given, const Tensor& shift_given,
                                              double epsilon) {
  const Tensor x = in_one_piece(x_given), scale = in_one_piece(scale_given), shift = in_one_piece(shift_given);
  check(x), check(scale), check(shift);
  const long runs = x.size(0), rows = x.size(1), columns = x.size(2);
  Tensor found = empty({runs, rows, columns}), mean = empty({runs, rows, 1}), variance = empty({runs, rows, 1});
  Row row(columns), factor(columns), added(columns);
  for (long k = 0; k < runs; k++) {
    factor.copy(scale.const_data_ptr<float>() + k * columns), added.copy(shift.const_data_ptr<float>() + k * columns);
    for (long r = k * rows; r < (k + 1) * rows; r++) {
      row.copy(x.const_data_ptr<float>() + r * columns), row.fill(0);
      const float middle = row.sum() / columns;
      row.fill(middle);
      const float spread = sum_of(row.filled, [&](long i) {
        const Vector off = row.at(i) - all(middle);
        row.put(i, off);
        return off * off;
      }) / columns;
      const Vector less = all(1) / root(all(spread) + all(epsilon));
      for (long i = 0; i < row.filled; i += LANES) row.put(i, fused(row.at(i) * less, factor.at(i), added.at(i)));
      std::copy_n(row.numbers.data(), columns, found.mutable_data_ptr<float>() + r * columns);
      mean.mutable_data_ptr<float>()[r] = middle, variance.mutable_data_ptr<float>()[r] = spread;
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
  Row row(columns), by(columns), factor(columns);
  by.fill(0), factor.fill(0);
  for (long k = 0; k < runs; k++) {
    factor.copy(scale.const_data_ptr<float>() + k * columns);
    Row of_scale(columns), of_shift(columns), some_scale(columns), some_shift(columns);
    for (long r = 0; r < rows; r++) {
      const long at = k * rows + r;
      const float middle = mean.const_data_ptr<float>()[at];
      const Vector less = all(1) / root(all(variance.const_data_ptr<float>()[at]) + all(epsilon));
      row.copy(x.const_data_ptr<float>() + at * columns), row.fill(middle);
      by.copy(delta.const_data_ptr<float>() + at * columns);
      const float along = sum_of(row.filled, [&](long i) {
        const Vector own = (row.at(i) - all(middle)) * less, given = by.at(i);
        row.put(i, own);
        some_scale.put(i, some_scale.at(i) + given * own);
        some_shift.put(i, some_shift.at(i) + given);
        by.put(i, given * factor.at(i));
        return by.at(i) * own;
      }) / columns;
      const float all_of = by.sum() / columns;
      for (long i = 0; i < row.filled; i += LANES)
        row.put(i, less * (by.at(i) - all(all_of) - row.at(i) * all(along)));
      std::copy_n(row.numbers.data(), columns, by_x.mutable_data_ptr<float>() + at * columns);
      if (r % ROWS == ROWS - 1 || r == rows - 1)
        for (long i = 0; i < row.filled; i += LANES) {
          of_scale.put(i, of_scale.at(i) + some_scale.at(i)), some_scale.put(i, all(0));
          of_shift.put(i, of_shift.at(i) + some_shift.at(i)), some_shift.put(i, all(0));
        }
    }
    std::copy_n(of_scale.numbers.data(), columns, by_scale.mutable_data_ptr<float>() + k * columns);
    std::copy_n(of_shift.numbers.data(), columns, by_shift.mutable_data_ptr<float>() + k * columns);
  }
  return {by_x, by_scale, by_shift};
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("layer_norm", TORCH_BOX(&layer_norm));
  library.impl("layer_norm_inputs", TORCH_BOX(&layer_norm_inputs));
}
