// K linear layers side by side on one core of a CPU: the tiles in which their products are taken.
//
// Arithmetic, the same for every vector width and every shape. A sum of products begins with its bias, or with 0, and takes
// the products in the order of their index, each by one fused multiply-add; where most inputs are 0, their products are left out,
// which changes no number (sparse.h). Everything else is rounded after each operation
// except where `fused` is written; division and square root are the exactly rounded ones. So a run's numbers depend neither
// on its place in a pack nor on its batch's size, nor on whether the processor has AVX2 or AVX-512.
#pragma once

#include "sparse.h"

namespace {

#if defined(__AVX512F__)
constexpr int ROWS = 8, WIDE = 3, NARROW = 2, LONG = 16;  // sums that fit into 32 registers; NARROW beside an update
#else
constexpr int ROWS = 6, WIDE = 2, NARROW = 2, LONG = 8;  // into 16
#endif
// LONG: of a single row, for which each weight is read once: the more of them lie next to each other, the better.
constexpr int PANEL = 8;        // of a row of a product that leaves out zeros
constexpr int MANY = 4 * ROWS;  // rows of such a product that are held at a time

// One run's h (B, O) = bias (O) + x (B, I) · weight (I, O). few: which inputs are not 0, if they are few, else null.
inline void linear_product(long batch, long inputs, long outputs, const float* x, const Sparse* few, const float* weight,
                           const float* bias, float* h) {
  Nothing nothing;
  const Product own{{x, inputs, 1}, weight, outputs, {inputs}, bias, 0, h, outputs};
  if (batch == 1) product<1, LONG>(1, outputs, own, nothing);
  else if (few) sparse_product<PANEL>(*few, outputs, own);
  else deep_product<ROWS, WIDE>(batch, outputs, own);
}

}  // namespace
