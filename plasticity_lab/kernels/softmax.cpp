// Shares that add up to 1 along one axis of a table, e^x over the sum of all, on one core of a CPU, and their gradient.
//
// A sum is taken in an order that its length alone decides: down a column row by row, along a row in 16 parts that are added up
// one after another. A table with a number that is none has none in the whole row or column.
//
// Legend: N tables, R rows, C columns.

#include <cmath>

#include "exponential.h"
#include "tensors.h"

namespace {

constexpr int PARTS = 16;
constexpr float NOTHING = -INFINITY;

// The sum of a row whose end is filled up with zeros to a multiple of PARTS.
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

// work(from which number of a table on, and of how many columns if not of LANES) for each vector of columns.
template <class Work>
void each_block(long columns, Work work) {
  long c = 0;
  for (; c + LANES <= columns; c += LANES) work(c);
  if (c < columns) work(c, static_cast<int>(columns - c));
}

void along(const float* x, float* to, long columns, float* row) {
  const long filled = (columns + PARTS - 1) / PARTS * PARTS;
  std::copy_n(x, columns, row);
  std::fill(row + columns, row + filled, NOTHING);
  Vector most = all(NOTHING);
  for (long i = 0; i < filled; i += LANES) most = larger(most, load(row + i));
  float largest = NOTHING;
  for (int lane = 0; lane < LANES; lane++) largest = std::max(largest, most[lane]);
  const float total = sum_of(filled, [&](long i) {
    const Vector power = power_of_e(load(row + i) - all(largest));
    store(row + i, power);
    return power;
  });
  for (long i = 0; i < filled; i += LANES) store(row + i, load(row + i) * all(1 / total));
  std::copy_n(row, columns, to);
}

template <class... Lanes>
void down(const float* x, float* to, long rows, long there, long columns, Lanes... lanes) {
  Vector most = all(NOTHING), total = all(0);
  for (long r = 0; r < there; r++) most = larger(most, load(x + r * columns, lanes...));
  for (long r = 0; r < there; r++) {
    const Vector power = power_of_e(load(x + r * columns, lanes...) - most);
    store(to + r * columns, power, lanes...);
    total += power;
  }
  const Vector share = all(1) / total;
  for (long r = 0; r < rows; r++)
    store(to + r * columns, r < there ? load(to + r * columns, lanes...) * share : all(0), lanes...);
}

template <class... Lanes>
void down_input(const float* delta, const float* shares, float* to, long rows, long columns, Lanes... lanes) {
  Vector mean = all(0);
  for (long r = 0; r < rows; r++) mean += load(delta + r * columns, lanes...) * load(shares + r * columns, lanes...);
  for (long r = 0; r < rows; r++) {
    const long at = r * columns;
    store(to + at, (load(delta + at, lanes...) - mean) * load(shares + at, lanes...), lanes...);
  }
}

void along_input(const float* delta, const float* shares, float* to, long columns) {
  const float mean = sum_of(columns, [&](long i) {
    const int left = static_cast<int>(std::clamp(columns - i, 0l, static_cast<long>(LANES)));
    return load(delta + i, left) * load(shares + i, left);
  });
  each_block(columns, [&](long c, auto... lanes) {
    store(to + c, (load(delta + c, lanes...) - all(mean)) * load(shares + c, lanes...), lanes...);
  });
}

// x (N, R, C) → of each column, or of each row, the shares; rows from `there` on take no part in columns, and have 0.
Tensor softmax(const Tensor& given, bool of_columns, int64_t there) {
  const Tensor x = in_one_piece(given);
  check(x);
  const long rows = x.size(1), columns = x.size(2);
  Tensor found = empty({x.size(0), rows, columns});
  std::vector<float> row(columns + PARTS);
  for (long n = 0; n < x.size(0); n++) {
    const float* from = x.const_data_ptr<float>() + n * rows * columns;
    float* to = found.mutable_data_ptr<float>() + n * rows * columns;
    if (of_columns)
      each_block(columns, [&](long c, auto... lanes) { down(from + c, to + c, rows, there, columns, lanes...); });
    else
      for (long r = 0; r < rows; r++) along(from + r * columns, to + r * columns, columns, row.data());
  }
  return found;
}

// The gradient by x from that by the shares, all (N, R, C).
Tensor softmax_input(const Tensor& delta_given, const Tensor& shares, bool of_columns) {
  const Tensor delta = in_one_piece(delta_given);
  check(delta), check(shares);
  const long rows = shares.size(1), columns = shares.size(2);
  Tensor found = empty({shares.size(0), rows, columns});
  for (long n = 0; n < shares.size(0); n++) {
    const long at = n * rows * columns;
    const float *by = delta.const_data_ptr<float>() + at, *share = shares.const_data_ptr<float>() + at;
    float* to = found.mutable_data_ptr<float>() + at;
    if (of_columns)
      each_block(columns, [&](long c, auto... lanes) { down_input(by + c, share + c, to + c, rows, columns, lanes...); });
    else
      for (long r = 0; r < rows * columns; r += columns) along_input(by + r, share + r, to + r, columns);
  }
  return found;
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("softmax", TORCH_BOX(&softmax));
  library.impl("softmax_input", TORCH_BOX(&softmax_input));
}
