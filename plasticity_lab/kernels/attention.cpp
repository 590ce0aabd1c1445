// Attention of each example's tokens to each other, by heads, on one core of a CPU, and its gradients. A table of scores has a row
// for each query and a column for each key; it stays in the cache from the first product to the last, and backward it is computed
// again.
//
// Legend: K runs, B examples, N tokens, R rows, B · N, D numbers of a token, d of a head.

#include <cmath>
#include <memory>

#include "products.h"
#include "sums.h"
#include "tensors.h"

namespace {

#if defined(__AVX512F__)
constexpr int ROWS = 8, WIDE = 3, TALL = 16;  // sums that fit into 32 registers; TALL if a row is one vector
#else
constexpr int ROWS = 6, WIDE = 2, TALL = 12;  // into 16
#endif

// One table: the tokens of a head in an example. Numbers of a token lie next to each other, tokens `row` apart.
struct Table {
  long tokens, numbers, row;
  long columns = (tokens + PARTS - 1) / PARTS * PARTS;  // keys, filled up: their scores are −∞, their shares 0
  float scale = 1 / std::sqrt(static_cast<float>(numbers));
  std::unique_ptr<float[]> turned{new float[numbers * columns]()}, start{new float[columns]()},
      shares{new float[tokens * columns]}, deltas{new float[tokens * columns]};
  Nothing nothing;

  Table(long tokens, long numbers, long row) : tokens(tokens), numbers(numbers), row(row) {
    std::fill(start.get() + tokens, start.get() + columns, -INFINITY);
  }

  // first (columns) + a (N, d) · bᵀ (d, N), the tokens of b along rows, → (N, columns).
  void scores(const float* a, const float* b, float factor, const float* first, float* to) {
    for (long n = 0; n < tokens; n++)
      for (long j = 0; j < numbers; j++) turned[j * columns + n] = b[n * row + j] * factor;
    product<ROWS, WIDE>(tokens, columns, {{a, row, 1}, turned.get(), columns, {numbers}, first, 0, to, columns}, nothing);
  }

  // table (N, columns), or turned, · b (N, d) → (N, d).
  void applied(Strided table, const float* b, float* to) {
    const Product own{table, b, row, {tokens}, nullptr, 0, to, row};
    if (numbers <= LANES) product<TALL, 1>(tokens, numbers, own, nothing);
    else product<ROWS, WIDE>(tokens, numbers, own, nothing);
  }
  Strided rows_of(const float* table) const { return {table, columns, 1}; }
  Strided columns_of(const float* table) const { return {table, 1, columns}; }

  // softmax(Q Kᵀ / √d), a row for each query.
  void share(const float* queries, const float* keys) {
    scores(queries, keys, scale, start.get(), shares.get());
    for (long n = 0; n < tokens; n++) {
      float* at = shares.get() + n * columns;
      Parts most(-INFINITY), total(0);
      each_part(most, columns, [&](Vector& part, long i) { part = larger(part, load(at + i)); });
      const Vector largest = all(largest_of(most));
      each_part(total, columns, [&](Vector& part, long i) {
        const Vector power = power_of_e(load(at + i) - largest);
        store(at + i, power);
        part += power;
      });
      const Vector less = all(1 / sum_of(total));
      for (long i = 0; i < columns; i += LANES) store(at + i, load(at + i) * less);
    }
  }

  // The gradient by the scores before the division by √d, from that by the result.
  void unshare(const float* delta, const float* values) {
    scores(delta, values, 1, nullptr, deltas.get());
    for (long n = 0; n < tokens; n++) {
      const float* share = shares.get() + n * columns;
      float* at = deltas.get() + n * columns;
      Parts total(0);
      each_part(total, columns, [&](Vector& part, long i) { part = fused(load(at + i), load(share + i), part); });
      const Vector mean = all(sum_of(total));
      for (long i = 0; i < columns; i += LANES) store(at + i, (load(at + i) - mean) * (load(share + i) * all(scale)));
    }
  }
};

// work(the place of a table's first number) for each example and head.
template <class Work>
void each_table(const Tensor& x, long tokens, long heads, Work work) {
  const long examples = x.size(0) * x.size(1) / tokens, row = x.size(2);
  for (long b = 0; b < examples; b++)
    for (long h = 0; h < heads; h++) work(b * tokens * row + h * (row / heads));
}

// queries, keys and values (K, R, D) → softmax(Q Kᵀ / √d) V of each head, the heads next to each other (K, R, D).
Tensor attention(const Tensor& queries_given, const Tensor& keys_given, const Tensor& values_given, int64_t tokens,
                 int64_t heads) {
  const Tensor queries = in_one_piece(queries_given), keys = in_one_piece(keys_given), values = in_one_piece(values_given);
  check(queries), check(keys), check(values);
  Tensor found = empty({queries.size(0), queries.size(1), queries.size(2)});
  const float *q = queries.const_data_ptr<float>(), *k = keys.const_data_ptr<float>(), *v = values.const_data_ptr<float>();
  float* to = found.mutable_data_ptr<float>();
  Table table{tokens, queries.size(2) / heads, queries.size(2)};
  each_table(queries, tokens, heads, [&](long at) {
    table.share(q + at, k + at);
    table.applied(table.rows_of(table.shares.get()), v + at, to + at);
  });
  return found;
}

// The gradients by queries, keys and values from that by the result, all (K, R, D).
std::tuple<Tensor, Tensor, Tensor> attention_inputs(const Tensor& delta_given, const Tensor& queries_given,
                                                    const Tensor& keys_given, const Tensor& values_given, int64_t tokens,
                                                    int64_t heads) {
  const Tensor delta = in_one_piece(delta_given), queries = in_one_piece(queries_given), keys = in_one_piece(keys_given),
               values = in_one_piece(values_given);
  check(delta), check(queries), check(keys), check(values);
  const auto made = [&] { return empty({queries.size(0), queries.size(1), queries.size(2)}); };
  Tensor by_queries = made(), by_keys = made(), by_values = made();
  const float *d = delta.const_data_ptr<float>(), *q = queries.const_data_ptr<float>(), *k = keys.const_data_ptr<float>(),
              *v = values.const_data_ptr<float>();
  float *to_q = by_queries.mutable_data_ptr<float>(), *to_k = by_keys.mutable_data_ptr<float>(),
        *to_v = by_values.mutable_data_ptr<float>();
  Table table{tokens, queries.size(2) / heads, queries.size(2)};
  each_table(queries, tokens, heads, [&](long at) {
    table.share(q + at, k + at);
    table.unshare(d + at, v + at);
    table.applied(table.columns_of(table.shares.get()), d + at, to_v + at);
    table.applied(table.rows_of(table.deltas.get()), k + at, to_q + at);
    table.applied(table.columns_of(table.deltas.get()), q + at, to_k + at);
  });
  return {by_queries, by_keys, by_values};
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("attention", TORCH_BOX(&attention));
  library.impl("attention_inputs", TORCH_BOX(&attention_inputs));
}
