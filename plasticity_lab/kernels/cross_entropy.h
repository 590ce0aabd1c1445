// The cross-entropy of one run's batch and its gradient by the logits, as agents/supervised/step.py has them compiled: the same bits.
//
// Legend: B examples, C classes.
#pragma once

#include <algorithm>

#include "composed.h"
#include "room.h"

namespace {

// The place of the first largest number; a NaN is larger than all others.
inline long first_largest(const float* x, long count) {
  long first = 0;
  for (long i = 1; i < count; i++)
    if (x[i] > x[first] || (x[i] != x[i] && x[first] == x[first])) first = i;
  return first;
}

struct CrossEntropy {
  long batch, classes;
  long width = (classes + LANES - 1) / LANES * LANES;
  Room powers{width};                                     // of one example
  Room totals{batch + LANES}, owns{batch + LANES};        // Σ e^(x − largest), and the label's x − largest; (B)
  Room changes{batch + LANES};                            // 0, or no number if a logit is none, or infinite
  Room row{width};
  int bits = 61 - (64 - __builtin_clzll(classes));
  float scale = std::ldexp(1.0f, bits);
  double part = std::ldexp(1.0, -bits);

  // logits (B, of which C of each `stride` are there) become the gradient by them of Σ weight · loss; the others become 0.
  // labels, weights (B) → losses (B), and which examples are right: their label has the first largest logit.
  void turn(float* logits, long stride, const int64_t* labels, const float* weights, float* losses, bool* right) {
    for (long b = 0; b < batch; b++) of_example(b, logits + b * stride, stride, labels[b], weights[b], right + b);
    for (long b = 0; b < batch; b += LANES) {
      const Vector likelihood = load(owns.begin + b) - composed_log(load(totals.begin + b));
      const Vector loss = -(likelihood + load(changes.begin + b));
      if (batch - b < LANES) store(losses + b, loss, static_cast<int>(batch - b));
      else store(losses + b, loss);
    }
  }

 private:
  void of_example(long b, float* logits, long stride, int64_t label, float weight, bool* right) {
    const long first = first_largest(logits, classes);
    const float largest = logits[first];
    bool finite = true;
    for (long c = 0; c < classes; c++) finite = finite && logits[c] < INFINITY;
    *right = first == label;
    std::copy_n(logits, classes, row.begin);
    std::fill(row.begin + classes, row.begin + width, -INFINITY);
    for (long c = 0; c < width; c += LANES) store(powers.begin + c, composed_exp(load(row.begin + c) - all(largest)));
    totals.begin[b] = sum_below_two();
    owns.begin[b] = label >= 0 && label < classes ? logits[label] - largest : -INFINITY;
    changes.begin[b] = finite ? 0.0f : NAN;
    const float total = totals.begin[b];
    for (long c = 0; c < classes; c++) {
      const float by = -weight * ((c == label ? 1.0f : 0.0f) - powers.begin[c] / total);
      logits[c] = logits[c] == -INFINITY ? 0.0f : by;
    }
    std::fill(logits + classes, logits + stride, 0.0f);
  }

  // See `sums_below_two` in stacking/products.py: whole numbers have the same sum in any order, which is rounded once.
  float sum_below_two() const {
    int64_t sum = 0;
    for (long c = 0; c < classes; c++) sum += static_cast<int64_t>(powers.begin[c] * scale);
    return static_cast<float>(static_cast<double>(sum) * part);
  }
};

}  // namespace
