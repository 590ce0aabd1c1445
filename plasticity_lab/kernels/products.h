// Matrix products of any shape, held in registers a tile at a time. A sum takes its products in the order of their index, each by
// one fused multiply-add, whatever the tile: so a number depends neither on the shape around it nor on a vector's width.
#pragma once

#include <algorithm>

#include "vectors.h"

namespace {

// Work that can be done a vector at a time between other instructions.
struct Nothing {
  INLINE void some() {}
};

// As many rows as a vector has lanes, of as many numbers: turned.
inline void turn_square(const float* from, long from_row, float* to, long to_row) {
  Vector rows[LANES];
  UNROLLED for (int r = 0; r < LANES; r++) rows[r] = load(from + r * from_row);
  UNROLLED for (int half = LANES / 2; half; half /= 2)
    UNROLLED for (int r = 0; r < LANES; r++)
      if (!(r & half)) exchange(rows[r], rows[r + half], half);
  UNROLLED for (int r = 0; r < LANES; r++) store(to + r * to_row, rows[r]);
}

// from (rows, columns) → to (columns, rows), in squares where all of it would not stay in the cache meanwhile.
inline void turn(long rows, long columns, const float* from, float* to) {
  const long side = rows * columns > 8192 ? 64 : std::max(rows, columns);
  for (long r = 0; r < rows; r += side)
    for (long c = 0; c < columns; c += side) {
      const long last_row = std::min(r + side, rows), last_column = std::min(c + side, columns);
      for (long x = r; x < last_row; x += LANES)
        for (long y = c; y < last_column; y += LANES) {
          const long below = std::min<long>(LANES, last_row - x), right = std::min<long>(LANES, last_column - y);
          if (below == LANES && right == LANES) {
            turn_square(from + x * columns + y, columns, to + y * rows + x, rows);
          } else {
            for (long i = x; i < x + below; i++)
              for (long j = y; j < y + right; j++) to[j * rows + i] = from[i * columns + j];
          }
        }
    }
}

// A matrix as a product reads it: element (r, k) of A is at[r * row + k * column].
struct Strided {
  const float* at;
  long row, column;
};

// How many products a sum takes: `each` in each of a number of segments, from one of which to the next A and B move on.
struct Depth {
  long each, segments = 1, a_step = 0, b_step = 0;
};

// Of B, in a product that is taken in pieces: half a MB.
constexpr long NUMBERS_CACHED = 1 << 17;

// C[r, :] = start[r, :] + Σ A[r, k] B[k, :]. A start that is null is zero; one whose row is 0 is the same for all r.
struct Product {
  Strided a;
  const float* b;
  long b_row;
  Depth depth;
  const float* start;
  long start_row;
  float* c;
  long c_row;

  INLINE Product row(long r) const {
    return {{a.at + r * a.row, a.row, a.column}, b, b_row, depth, start ? start + r * start_row : start, start_row,
            c + r * c_row, c_row};
  }
  INLINE Product column(long z) const {
    return {a, b + z, b_row, depth, start ? start + z : start, start_row, c + z, c_row};
  }
};

// R rows and C vectors of it, of whose last only `last` lanes count if PART.
template <int R, int C, bool PART, class Between>
INLINE void tile(Product p, int last, Between& between) {
  Vector sums[R][C];
  UNROLLED for (int r = 0; r < R; r++) {
    UNROLLED for (int z = 0; z < C; z++) {
      const float* from = p.start + r * p.start_row + LANES * z;
      sums[r][z] = !p.start ? all(0) : PART && z == C - 1 ? load(from, last) : load(from);
    }
  }
  for (long s = 0; s < p.depth.segments; s++) {
    const float *a = p.a.at + s * p.depth.a_step, *b = p.b + s * p.depth.b_step;
    for (long k = 0; k < p.depth.each; k++) {
      Vector w[C];
      UNROLLED for (int z = 0; z < C; z++) {
        const float* at = b + k * p.b_row + LANES * z;
        w[z] = PART && z == C - 1 ? load(at, last) : load(at);
      }
      UNROLLED for (int r = 0; r < R; r++) {
        const Vector x = all(a[r * p.a.row + k * p.a.column]);
        UNROLLED for (int z = 0; z < C; z++) sums[r][z] = fused(x, w[z], sums[r][z]);
      }
      between.some();
    }
  }
  UNROLLED for (int r = 0; r < R; r++) {
    UNROLLED for (int z = 0; z < C; z++) {
      float* at = p.c + r * p.c_row + LANES * z;
      if (PART && z == C - 1) store(at, sums[r][z], last);
      else store(at, sums[r][z]);
    }
  }
}

template <int R, int C, bool PART, class Between>
INLINE void columns(int vectors, Product p, int last, Between& between) {
  if constexpr (C > 1) {
    if (vectors < C) return columns<R, C - 1, PART>(vectors, p, last, between);
  }
  tile<R, C, PART>(p, last, between);
}

template <int R, int C, bool PART, class Between>
INLINE void rows_at_once(int rows, int vectors, Product p, int last, Between& between) {
  if constexpr (R > 1) {
    if (rows < R) return rows_at_once<R - 1, C, PART>(rows, vectors, p, last, between);
  }
  columns<R, C, PART>(vectors, p, last, between);
}

// So many rows of it, in tiles that are as alike as can be: one of a single row takes as long as one of four.
template <int R, int C, bool PART, class Between>
void panel(int rows, int vectors, Product p, int last, Between& given) {
  Between between = given;  // its own copy can stay in registers
  for (int tiles = (rows + R - 1) / R, r = 0; tiles > 0; tiles--) {
    const int own = (rows - r + tiles - 1) / tiles;
    rows_at_once<R, C, PART>(own, vectors, p.row(r), last, between);
    r += own;
  }
  given = between;
}

// All of it: `rows` rows and `width` columns, in tiles of at most R rows and C vectors.
template <int R, int C, class Between>
INLINE void product(int rows, int width, Product p, Between& between) {
  const int vectors = (width + LANES - 1) / LANES, last = width % LANES;
  for (int z = 0; z < vectors; z += C) {
    const int own = vectors - z < C ? vectors - z : C;
    if (last && z + own == vectors) panel<R, C, true>(rows, own, p.column(z * LANES), last, between);
    else panel<R, C, false>(rows, own, p.column(z * LANES), 0, between);
  }
}

// Reads lines of memory into the cache, one after the other.
struct Fetch {
  const float* next;
  const float* end;

  INLINE void some() {
    if (next >= end) return;
    _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
    next += 16;  // 64 bytes
  }
};

// The same, of one segment, where B may be more than the caches hold: as many of its rows at a time as stay there until all of C
// has taken its products with them, while the next rows are fetched. In between C lies in memory, which rounds nothing.
template <int R, int C>
inline void deep_product(int rows, int width, Product p) {
  const long piece = std::max(32l, NUMBERS_CACHED / width), depth = p.depth.each;
  for (long k = 0; k < depth; k += piece) {
    Product part = p;
    part.a.at += k * p.a.column, part.b += k * p.b_row, part.depth = {std::min(piece, depth - k)};
    if (k) part.start = p.c, part.start_row = p.c_row;
    Fetch following{part.b + piece * p.b_row, p.b + std::min(depth, k + 2 * piece) * p.b_row};
    product<R, C>(rows, width, part, following);
  }
}

// c[:] = Σ rows of b.
inline void sum_rows(long rows, long width, const float* b, long b_row, float* c) {
  static const float one = 1;
  Nothing nothing;
  product<1, 4>(1, width, {{&one, 0, 0}, b, b_row, {rows}, nullptr, 0, c, width}, nothing);
}

}  // namespace
