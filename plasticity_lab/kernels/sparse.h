// Products whose left matrix is mostly 0, as pixels around a digit are: those by 0 are left out. A sum takes the others in the
// order in which a dense product takes them, and 0 · w adds nothing; so the numbers are a dense product's, but that a sum may be
// −0 where that has 0, and that a weight that is not finite is not met by an input that is 0.
#pragma once

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

// each<V, PART>(p, last) for the V vectors that `vectors` counts, at most C; of the last one `last` lanes count if PART, else all.
template <int C, class Each>
INLINE void of_vectors(int vectors, Product p, int last, const Each& each) {
  if constexpr (C > 1) {
    if (vectors < C) return of_vectors<C - 1>(vectors, p, last, each);
  }
  if (last) each.template operator()<C, true>(p, last);
  else each.template operator()<C, false>(p, last);
}

// The same for a product of any width, panel by panel: at most C vectors at a time, and as alike as can be.
template <int C, class Each>
INLINE void by_vectors(long width, Product p, const Each& each) {
  const int vectors = (width + LANES - 1) / LANES, last = width % LANES;
  for (int panels = (vectors + C - 1) / C, z = 0; panels > 0; panels--) {
    const int own = (vectors - z + panels - 1) / panels;
    of_vectors<C>(own, p.column(z * LANES), z + own == vectors ? last : 0, each);
    z += own;
  }
}

// The product of all its rows, into p.c; what p says of A is not looked at. At most C vectors at a time, and as many rows of B as
// stay near until all rows of C have met them; in between C lies in memory, which rounds nothing.
template <int C>
inline void sparse_product(const Sparse& a, long width, Product whole) {
  std::vector<long> next;
  by_vectors<C>(width, whole, [&]<int V, bool PART>(Product p, int last) {
    next.assign(a.start.begin(), a.start.end() - 1);
    const long rows = next.size(), piece = NUMBERS_NEAR / (V * LANES);
    for (long k = 0; k < p.depth.each; k += piece) {
      if (k) p.start = p.c, p.start_row = p.c_row;
      for (long r = 0; r < rows; r++) next[r] = sparse_row<V, PART>(a, next[r], a.start[r + 1], k + piece, p.row(r), last);
    }
  });
}

}  // namespace
