// The shares of e^x in rows of numbers, and sums by halves, as stacking/elementary.py has them compiled: the same bits.
#pragma once

#include <algorithm>

#include "composed.h"
#include "room.h"
#include "whole_sums.h"

namespace {

// Of some rows of a table: x − largest, e^ of it, and the sum of that.
struct Shares {
  long length, at_once;
  Room shifted{length * at_once + LANES}, powers{length * at_once + LANES}, totals{at_once + LANES};
  WholeSums sums{length};

  // rows: of the table.
  Shares(long length, long rows) : length(length), at_once(std::clamp(2048 / length, 1l, std::max(1l, rows))) {}

  void read(const float* x, long rows) {
    struct Own {
      INLINE Vector operator()(Vector each) const { return each; }
      INLINE float operator()(float each) const { return each; }
    };
    const long count = rows * length;
    float* highest = totals.begin;
    for (long r = 0; r < rows; r++) {
      highest[r] = largest(x + r * length, length, Own());
      for (long i = r * length; i < (r + 1) * length; i++) shifted.begin[i] = x[i] - highest[r];
    }
    for (long i = 0; i < count; i += LANES) store(powers.begin + i, composed_exp(load(shifted.begin + i)));
    for (long r = 0; r < rows; r++) {
      const float* power = powers.begin + r * length;
      totals.begin[r] = std::fabs(highest[r]) < INFINITY ? sums.of(power) : sums.with_nan(power);
    }
  }

  // The logarithms of the sums, in their place.
  const float* logs() {
    for (long r = 0; r < at_once; r += LANES) store(totals.begin + r, composed_log(load(totals.begin + r)));
    return totals.begin;
  }
};

// The gradient of `_sum_at_each_place`, which adds up rolled rows: of its sums each place has the same one, by halves of the row.
struct SumsByHalves {
  long length, filled = static_cast<long>(std::bit_ceil(static_cast<uint64_t>(length)));
  Room room{filled};

  explicit SumsByHalves(long length) : length(length) {}

  // Σ −x.
  float of_negative(const float* x) {
    float* from = room.begin;
    for (long i = 0; i < length; i++) from[i] = -x[i];
    std::fill(from + length, from + filled, 0.0f);
    for (long half = filled / 2; half; half /= 2)
      for (long i = 0; i < half; i++) from[i] += from[i + half];
    return from[0];
  }
};

}  // namespace
