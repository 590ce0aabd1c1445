// Sums and maxima along a row. A sum has PARTS parts, a lane for each; halves are added up until one number is left. So its order
// depends on the length of the row alone, not on the lanes of a vector.
#pragma once

#include "exponential.h"

namespace {

constexpr int PARTS = 16;

// A number for each part: one vector, or two.
struct Parts {
  Vector of[PARTS / LANES];

  explicit Parts(float start) {
    for (Vector& each : of) each = all(start);
  }
};

// halves(a, b) until one number is left.
template <class Halves>
INLINE float folded(const Parts& parts, Halves halves) {
#if defined(__AVX512F__)
  const __m512d whole = _mm512_castps_pd(parts.of[0]);
  __m256 eight = halves(_mm512_castps512_ps256(parts.of[0]), _mm256_castpd_ps(_mm512_extractf64x4_pd(whole, 1)));
#else
  __m256 eight = halves(__m256(parts.of[0]), __m256(parts.of[1]));
#endif
  const __m256 four = halves(eight, _mm256_permute2f128_ps(eight, eight, 1));
  const __m256 two = halves(four, _mm256_permute_ps(four, 0b01001110));
  return _mm256_cvtss_f32(halves(two, _mm256_permute_ps(two, 0b10110001)));
}

INLINE float sum_of(const Parts& parts) {
  return folded(parts, [](__m256 a, __m256 b) { return _mm256_add_ps(a, b); });
}
INLINE float largest_of(const Parts& parts) {
  return folded(parts, [](__m256 a, __m256 b) { return _mm256_max_ps(a, b); });
}

// add(part, place of its vector) for each vector of a row of `count` numbers, a multiple of PARTS.
template <class Add>
INLINE void each_part(Parts& parts, long count, Add add) {
  for (long i = 0; i < count; i += PARTS)
    UNROLLED for (int j = 0; j < PARTS / LANES; j++) add(parts.of[j], i + j * LANES);
}

}  // namespace
