// Functions of rows of numbers on one core of a CPU, whose sums do not depend on an order: log_softmax with its gradient, sums, and the
// projection of distributions. Each operation is rounded by itself and has the place that it has in stacking/elementary.py,
// stacking/products.py and agents/value/targets/returns.py, so the bits are those of compiled code without this kernel.
//
// Legend: K runs, B examples, Z atoms of a support, N atoms of any distribution.

#include "log_softmax.h"
#include "tensors.h"

namespace {

// Rows of a tensor along its last axis.
struct Table {
  Tensor of;
  long length, rows;
  const float* x;

  explicit Table(const Tensor& given) : of(in_one_piece(given)), length(of.size(of.dim() - 1)) {
    check(of);
    STD_TORCH_CHECK(length > 0, "a row without numbers has no largest one");
    rows = static_cast<long>(of.numel()) / length;
    x = of.const_data_ptr<float>();
  }
};

// work(first row, number of rows) with their shares.
template <class Work>
void by_shares(const Table& table, Work work) {
  Shares shares(table.length, table.rows);
  for (long first = 0; first < table.rows; first += shares.at_once) {
    const long rows = std::min(shares.at_once, table.rows - first);
    shares.read(table.x + first * table.length, rows);
    work(first, rows, shares);
  }
}

// x (*, A) → like x.
Tensor log_softmax(const Tensor& given) {
  const Table table(given);
  Tensor found = torch::stable::empty_like(table.of);
  float* to = found.mutable_data_ptr<float>();
  by_shares(table, [&](long first, long rows, Shares& shares) {
    const float *shifted = shares.shifted.begin, *logs = shares.logs();
    float* own = to + first * table.length;
    for (long r = 0; r < rows; r++, own += table.length, shifted += table.length)
      for (long i = 0; i < table.length; i++) own[i] = shifted[i] - logs[r];
  });
  return found;
}

// The gradient by x from that by the result, both like x.
Tensor log_softmax_input(const Tensor& delta_given, const Tensor& given) {
  const Table table(given), delta(delta_given);
  Tensor found = torch::stable::empty_like(table.of);
  float* to = found.mutable_data_ptr<float>();
  SumsByHalves sums(table.length);
  by_shares(table, [&](long first, long rows, Shares& shares) {
    for (long r = 0; r < rows; r++) {
      const long at = (first + r) * table.length;
      const float *x = table.x + at, *by = delta.x + at, *power = shares.powers.begin + r * table.length, total = shares.totals.begin[r];
      const float sum = sums.of_negative(by);
      for (long i = 0; i < table.length; i++) to[at + i] = x[i] == -INFINITY ? 0.0f : by[i] + sum * (power[i] / total);
    }
  });
  return found;
}

// One entry of each row: x (*, A), index (*) → (*).
Tensor log_softmax_at(const Tensor& given, const Tensor& index_given) {
  const Table table(given);
  const Tensor index = in_one_piece(index_given);
  Tensor found = torch::stable::new_empty(table.of, index.sizes());
  const int64_t* label = index.const_data_ptr<int64_t>();
  float* to = found.mutable_data_ptr<float>();
  by_shares(table, [&](long first, long rows, Shares& shares) {
    const float* logs = shares.logs();
    for (long r = 0; r < rows; r++) {
      const int64_t own = label[first + r];
      const bool there = own >= 0 && own < table.length;
      to[first + r] = (there ? shares.shifted.begin[r * table.length + own] : -INFINITY) - logs[r];
    }
  });
  return found;
}

// The gradient by x (*, A) from that by the entries (*).
Tensor log_softmax_at_input(const Tensor& delta_given, const Tensor& given, const Tensor& index_given) {
  const Table table(given);
  const Tensor delta = in_one_piece(delta_given), index = in_one_piece(index_given);
  check(delta);
  Tensor found = torch::stable::empty_like(table.of);
  const float* by = delta.const_data_ptr<float>();
  const int64_t* label = index.const_data_ptr<int64_t>();
  float* to = found.mutable_data_ptr<float>();
  by_shares(table, [&](long first, long rows, Shares& shares) {
    for (long r = 0; r < rows; r++) {
      const long at = (first + r) * table.length;
      const float *x = table.x + at, *power = shares.powers.begin + r * table.length, total = shares.totals.begin[r];
      const auto slope = [&](long i, float own) { return x[i] == -INFINITY ? 0.0f : (own - power[i] / total) * by[first + r]; };
      for (long i = 0; i < table.length; i++) to[at + i] = slope(i, 0);
      const int64_t own = label[first + r];
      if (own >= 0 && own < table.length) to[at + own] = slope(own, 1);
    }
  });
  return found;
}

// x (*, N) → the sums along the last axis, (*).
Tensor exact_sums(const Tensor& given) {
  const Table table(given);
  std::vector<int64_t> sizes(table.of.sizes().begin(), table.of.sizes().end() - 1);
  Tensor found = torch::stable::new_empty(table.of, sizes);
  float* to = found.mutable_data_ptr<float>();
  for (long r = 0; r < table.rows; r++) to[r] = exact_sum(table.x + r * table.length, table.length);
  return found;
}

// Each probability (K, B, N) is divided between the two atoms of the support (K, Z) next to its place. atoms (K, N) or (K, B, N).
Tensor projected(const Tensor& probabilities_given, const Tensor& atoms_given, const Tensor& support_given, const Tensor& returns_given,
                 const Tensor& discount_given) {
  const Table probabilities(probabilities_given), atoms(atoms_given), support(support_given), returns(returns_given), discount(discount_given);
  const long runs = support.rows, batch = returns.length, count = support.length, length = probabilities.length;
  Tensor found = empty({runs, batch, count});
  float* to = found.mutable_data_ptr<float>();
  std::fill_n(to, runs * batch * count, 0.0f);
  std::vector<float> share(length);
  std::vector<int> index(length);
  for (long k = 0; k < runs; k++) {
    const float low = support.x[k * count], high = support.x[(k + 1) * count - 1], width = (high - low) / static_cast<float>(count - 1);
    for (long b = k * batch; b < (k + 1) * batch; b++, to += count) {
      const float* atom = atoms.x + (atoms.of.dim() == 2 ? k : b) * length;
      const float* probability = probabilities.x + b * length;
      for (long n = 0; n < length; n++) {
        const float moved = returns.x[b] + discount.x[b] * atom[n], above = moved < low ? low : moved;
        const float place = ((above > high ? high : above) - low) / width, floor = std::floor(place);
        const float below = floor > static_cast<float>(count - 2) ? static_cast<float>(count - 2) : floor;
        share[n] = place - below;
        index[n] = place >= 0 ? static_cast<int>(below) : 0;  // 0 for NaN too
      }
      for (long n = 0; n < length; n++) to[index[n]] += probability[n] * (1 - share[n]);
      for (long n = 0; n < length; n++) to[index[n] + 1] += probability[n] * share[n];
    }
  }
  return found;
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("log_softmax", TORCH_BOX(&log_softmax));
  library.impl("log_softmax_input", TORCH_BOX(&log_softmax_input));
  library.impl("log_softmax_at", TORCH_BOX(&log_softmax_at));
  library.impl("log_softmax_at_input", TORCH_BOX(&log_softmax_at_input));
  library.impl("exact_sums", TORCH_BOX(&exact_sums));
  library.impl("projected", TORCH_BOX(&projected));
}
