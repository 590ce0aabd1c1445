// Products whose left matrix is mostly 0, as pixels around a digit are: those by 0 are left out. A sum takes the others in the
// order in which a dense product takes them, and 0 · w adds nothing; so the numbers are a dense product's, but that a sum may be
// −0 where that has 0, and that a weight that is not finite is not met by an input that is 0.
#pragma once

#include <vector>

#include "products.h"

namespace {

// It is worth it where no more than one of this many numbers is not 0: a dense tile uses what it reads several times, this once.
constexpr long FEW = 3;

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

// Its columns as rows, and how many they are.
inline Sparse turned(const Sparse& of, long columns) {
  const long rows = of.start.size() - 1, count = of.start.back();
  Sparse found{std::vector<long>(columns + 1), std::vector<int>(count), std::vector<float>(count)};
  std::vector<long> next(columns + 1);
  for (long e = 0; e < count; e++) next[of.column[e] + 1]++;
  for (long c = 0; c < columns; c++) found.start[c + 1] = next[c + 1] += next[c];
  for (long r = 0; r < rows; r++)
    for (long e = of.start[r]; e < of.start[r + 1]; e++) {
      const long to = next[of.column[e]]++;
      found.column[to] = r, found.value[to] = of.value[e];
    }
  return found;
}

// C vectors of row r of its product, of whose last only `last` lanes count if PART.
template <int C, bool PART, class Between>
INLINE void sparse_row(const Sparse& a, long r, Product p, int last, Between& between) {
  Vector sums[C];
  UNROLLED for (int z = 0; z < C; z++) {
    const float* from = p.start + LANES * z;
    sums[z] = !p.start ? all(0) : PART && z == C - 1 ? load(from, last) : load(from);
  }
  for (long e = a.start[r]; e < a.start[r + 1]; e++) {
    const Vector x = all(a.value[e]);
    const float* row = p.b + a.column[e] * p.b_row;
    UNROLLED for (int z = 0; z < C; z++) {
      const float* at = row + LANES * z;
      sums[z] = fused(x, PART && z == C - 1 ? load(at, last) : load(at), sums[z]);
    }
    between.some();
  }
  UNROLLED for (int z = 0; z < C; z++) {
    if (PART && z == C - 1) store(p.c + LANES * z, sums[z], last);
    else store(p.c + LANES * z, sums[z]);
  }
}

template <int C, bool PART, class Between>
INLINE void sparse_columns(const Sparse& a, long first, long rows, int vectors, Product p, int last, Between& given) {
  if constexpr (C > 1) {
    if (vectors < C) return sparse_columns<C - 1, PART>(a, first, rows, vectors, p, last, given);
  }
  Between between = given;
  for (long r = 0; r < rows; r++) sparse_row<C, PART>(a, first + r, p.row(r), last, between);
  given = between;
}

// The product's rows from `first` on, into p.c; what p says of A is not looked at. At most C vectors at a time.
template <int C, class Between>
inline void sparse_product(const Sparse& a, long first, long rows, long width, Product p, Between& between) {
  const int vectors = (width + LANES - 1) / LANES, last = width % LANES;
  for (int panels = (vectors + C - 1) / C, z = 0; panels > 0; panels--) {
    const int own = (vectors - z + panels - 1) / panels;
    if (last && z + own == vectors) sparse_columns<C, true>(a, first, rows, own, p.column(z * LANES), last, between);
    else sparse_columns<C, false>(a, first, rows, own, p.column(z * LANES), 0, between);
    z += own;
  }
}

}  // namespace
