// Products whose left matrix is mostly 0, as pixels around a digit are: those by 0 are left out. A sum takes the others in the
// order in which a dense product takes them, and 0 · w adds nothing; so the numbers are a dense product's, but that a sum may be
// −0 where that has 0, and that a weight that is not finite is not met by an input that is 0.
#pragma once

#include <cstdint>
#include <vector>

#include "products.h"

namespace {

// It is worth it where no more than one of this many numbers is not 0: a dense tile uses what it reads several times, this once.
constexpr long FEW = 3;

// Of B, beside C: what the smallest cache holds.
constexpr long NUMBERS_NEAR = 1 << 13;

// The numbers of a matrix that are not 0, row by row: those of row r, and their columns, lie from start[r] to start[r + 1].
struct Sparse {
  std::vector<long> start;
  std::vector<int> column;
  std::vector<float> value;
};

// All of x (rows, columns) that is not 0, if that is little; false as soon as it is not.
inline bool sparse(const float* x, long rows, long columns, Sparse& found) {
  const long most = rows * columns / FEW;
  found.start.assign(1, 0);
  found.column.resize(most + columns + LANES);
  found.value.resize(most + columns + LANES);
  long count = 0;
  for (long r = 0; r < rows; r++) {
    count += not_zero(x + r * columns, columns, found.column.data() + count, found.value.data() + count);
    if (count > most) return false;
    found.start.push_back(count);
  }
  return true;
}

// C vectors of a row of its product, by the numbers from `e` on whose columns are below `limit`; returns where those end. Of the
// last vector only `last` lanes count if PART.
template <int C, bool PART>
INLINE long sparse_row(const Sparse& a, long e, long end, long limit, Product p, int last) {
  Vector sums[C];
  UNROLLED for (int z = 0; z < C; z++) {
    const float* from = p.start + LANES * z;
    sums[z] = !p.start ? all(0) : PART && z == C - 1 ? load(from, last) : load(from);
  }
  const int* column = a.column.data();
  const float* value = a.value.data();
  for (; e < end && column[e] < limit; e++) {
    const Vector x = all(value[e]);
    const float* row = p.b + column[e] * p.b_row;
    UNROLLED for (int z = 0; z < C; z++) {
      const float* at = row + LANES * z;
      sums[z] = fused(x, PART && z == C - 1 ? load(at, last) : load(at), sums[z]);
    }
  }
  UNROLLED for (int z = 0; z < C; z++) {
    if (PART && z == C - 1) store(p.c + LANES * z, sums[z], last);
    else store(p.c + LANES * z, sums[z]);
  }
  return e;
}

template <int C, bool PART>
INLINE void sparse_columns(const Sparse& a, int vectors, Product p, int last) {
  if constexpr (C > 1) {
    if (vectors < C) return sparse_columns<C - 1, PART>(a, vectors, p, last);
  }
  // As many rows of B at a time as stay near until all rows of C have met them; in between C lies in memory, which rounds nothing.
  const long rows = a.start.size() - 1, depth = p.depth.each, piece = NUMBERS_NEAR / (C * LANES);
  std::vector<long> next(a.start.begin(), a.start.end() - 1);
  for (long k = 0; k < depth; k += piece) {
    if (k) p.start = p.c, p.start_row = p.c_row;
    for (long r = 0; r < rows; r++) next[r] = sparse_row<C, PART>(a, next[r], a.start[r + 1], k + piece, p.row(r), last);
  }
}

// The product of all its rows, into p.c; what p says of A is not looked at. At most C vectors at a time.
template <int C>
inline void sparse_product(const Sparse& a, long width, Product p) {
  const int vectors = (width + LANES - 1) / LANES, last = width % LANES;
  for (int panels = (vectors + C - 1) / C, z = 0; panels > 0; panels--) {
    const int own = (vectors - z + panels - 1) / panels;
    if (last && z + own == vectors) sparse_columns<C, true>(a, own, p.column(z * LANES), last);
    else sparse_columns<C, false>(a, own, p.column(z * LANES), 0);
    z += own;
  }
}

}  // namespace
