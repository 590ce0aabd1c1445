// The same from the other side: xᵀ · b, where most of x is 0. See sparse.h; what is said there of the numbers holds here too.
#pragma once

#include <cstdint>

#include "sparse.h"

namespace {

// Which numbers of a matrix are not 0: of column c and row r, bit r % 32 of word[r / 32 · columns + c].
struct Filled {
  long columns = 0;
  std::vector<uint32_t> word;

  bool any(long c) const {
    uint32_t bits = 0;
    for (size_t at = c; at < word.size(); at += columns) bits |= word[at];
    return bits;
  }
};

// Those of x (rows, columns), if they are few; false as soon as they are not.
inline bool filled(const float* x, long rows, long columns, Filled& found) {
  const long most = rows * columns / FEW;
  found.columns = columns;
  found.word.assign((rows + 31) / 32 * columns, 0);
  long count = 0;
  for (long first = 0; first < rows; first += 32) {
    uint32_t* words = found.word.data() + first / 32 * columns;
    for (long r = first; r < std::min(rows, first + 32); r++) {
      const uint32_t bit = uint32_t{1} << (r - first);
      const float* row = x + r * columns;
      for (long c = 0; c < columns; c++) words[c] |= row[c] != 0 ? bit : 0;
    }
    for (long c = 0; c < columns; c++) count += __builtin_popcount(words[c]);
    if (count > most) return false;
  }
  return true;
}

// C vectors of row `c` of xᵀ · b are added to `sums`, of whose last only `last` lanes count if PART; p is that row's.
template <int C, bool PART>
INLINE void add_filled(const Filled& x, long c, const Product& p, int last, Vector (&sums)[C]) {
  const uint32_t *word = x.word.data() + c, *end = x.word.data() + x.word.size();
  for (const float *a = p.a.at, *b = p.b; word < end; word += x.columns, a += 32 * p.a.column, b += 32 * p.b_row) {
    for (uint32_t bits = *word; bits; bits &= bits - 1) {
      const long k = __builtin_ctz(bits);
      const Vector value = all(a[k * p.a.column]);
      const float* row = b + k * p.b_row;
      UNROLLED for (int z = 0; z < C; z++)
        sums[z] = fused(value, PART && z == C - 1 ? load(row + LANES * z, last) : load(row + LANES * z), sums[z]);
    }
  }
}

// The same, into p.c.
template <int C, bool PART>
INLINE void filled_row(const Filled& x, long c, Product p, int last) {
  Vector sums[C] = {};
  add_filled<C, PART>(x, c, p, last, sums);
  UNROLLED for (int z = 0; z < C; z++) {
    if (PART && z == C - 1) store(p.c + LANES * z, sums[z], last);
    else store(p.c + LANES * z, sums[z]);
  }
}

// The product's rows from `first` on, into p.c, without a start. At most C vectors at a time. Meanwhile those numbers of x are
// fetched that the rows after the next ones need: each row of x lies elsewhere. After each row as much is done of `between` as a
// row has vectors: an update waits for the unit that divides, and the next row is multiplied meanwhile.
template <int C, class Between>
inline void filled_product(const Filled& x, long first, long rows, long width, Product whole, Between& between) {
  for (long k = 0; k < whole.depth.each; k++)
    _mm_prefetch(reinterpret_cast<const char*>(whole.a.at + k * whole.a.column + 2 * rows), _MM_HINT_T0);
  by_vectors<C>(width, whole, [&]<int V, bool PART>(Product p, int last) {
    Between own = between;  // its own copy can stay in registers
    for (long r = 0; r < rows; r++) {
      filled_row<V, PART>(x, first + r, p.row(r), last);
      for (int z = 0; z < V; z++) own.some();
    }
    between = own;
  });
}

}  // namespace
