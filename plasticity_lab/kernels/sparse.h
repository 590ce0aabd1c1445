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

// Which numbers of a matrix are not 0: of row r and column c, bit c % AT_ONCE of word[c / AT_ONCE · rows + r].
struct Sparse {
  static constexpr long AT_ONCE = 64;  // columns of a word, and rows of B that stay in the smallest cache until all rows have met them
  long rows = 0;
  std::vector<uint64_t> word;
};

// Those of x (rows, columns), if they are few; false as soon as they are not.
inline bool sparse(const float* x, long rows, long columns, Sparse& found) {
  const long most = rows * columns / FEW;
  found.rows = rows;
  found.word.resize((columns + Sparse::AT_ONCE - 1) / Sparse::AT_ONCE * rows);
  long count = 0;
  for (long r = 0; r < rows; r++) {
    const float* row = x + r * columns;
    for (long c = 0, at = r; c < columns; c += Sparse::AT_ONCE, at += rows) {
      uint64_t bits = 0;
      for (long z = 0; z < std::min(Sparse::AT_ONCE, columns - c); z += LANES)
        bits |= uint64_t{not_zero(row + c + z, columns - c - z)} << z;
      found.word[at] = bits;
      count += __builtin_popcountll(bits);
    }
    if (count > most) return false;
  }
  return true;
}

// C vectors of a row of its product, by the numbers whose bits are set; p.a and p.b begin at the first of them. Of the last vector
// only `last` lanes count if PART.
template <int C, bool PART>
INLINE void sparse_row(uint64_t bits, Product p, int last) {
  Vector sums[C];
  UNROLLED for (int z = 0; z < C; z++) {
    const float* from = p.start + LANES * z;
    sums[z] = !p.start ? all(0) : PART && z == C - 1 ? load(from, last) : load(from);
  }
  for (; bits; bits &= bits - 1) {
    const long k = __builtin_ctzll(bits);
    const Vector x = all(p.a.at[k]);
    const float* row = p.b + k * p.b_row;
    UNROLLED for (int z = 0; z < C; z++) {
      const float* at = row + LANES * z;
      sums[z] = fused(x, PART && z == C - 1 ? load(at, last) : load(at), sums[z]);
    }
  }
  UNROLLED for (int z = 0; z < C; z++) {
    if (PART && z == C - 1) store(p.c + LANES * z, sums[z], last);
    else store(p.c + LANES * z, sums[z]);
  }
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

// The product of all its rows, into p.c. At most C vectors at a time, and as many rows of B as a word has bits, until all rows of C
// have met them; in between C lies in memory, which rounds nothing.
template <int C>
inline void sparse_product(const Sparse& a, long width, Product whole) {
  by_vectors<C>(width, whole, [&]<int V, bool PART>(Product p, int last) {
    const uint64_t* word = a.word.data();
    for (long k = 0; k < p.depth.each; k += Sparse::AT_ONCE) {
      for (long r = 0; r < a.rows; r++) sparse_row<V, PART>(*word++, p.row(r), last);
      p.a.at += Sparse::AT_ONCE, p.b += Sparse::AT_ONCE * p.b_row, p.start = p.c, p.start_row = p.c_row;
    }
  });
}

}  // namespace
