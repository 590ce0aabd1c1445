// A vector of floats as the processor has it, and what is done with one. Each operation is rounded by itself, and exactly, but
// for `fused`: so numbers do not depend on how many lanes a vector has.
#pragma once

#include <immintrin.h>

namespace {

#if defined(__AVX512F__)
constexpr int LANES = 16;
using Machine = __m512;
#else
constexpr int LANES = 8;
using Machine = __m256;
#endif
using Vector = float __attribute__((vector_size(LANES * sizeof(float))));
using Unaligned = float __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

using Whole = int __attribute__((vector_size(LANES * sizeof(int))));

#define INLINE inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")

INLINE Vector load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
INLINE void store(float* to, Vector x) { *reinterpret_cast<Unaligned*>(to) = x; }

#if defined(__AVX512F__)
INLINE Vector load(const float* from, int lanes) { return _mm512_maskz_loadu_ps((1u << lanes) - 1, from); }
INLINE void store(float* to, Vector x, int lanes) { _mm512_mask_storeu_ps(to, (1u << lanes) - 1, x); }
INLINE Vector fused(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
INLINE Vector root(Vector x) { return _mm512_sqrt_ps(x); }
INLINE Vector all(float x) { return _mm512_set1_ps(x); }

// Those of x that are not 0, and where they stood, one after another; returns how many. May write LANES more.
INLINE long not_zero(const float* x, long count, int* where, float* value) {
  long found = 0;
  __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (long i = 0; i < count; i += LANES, at = _mm512_add_epi32(at, _mm512_set1_epi32(LANES))) {
    const Machine some = count - i < LANES ? load(x + i, static_cast<int>(count - i)) : load(x + i);
    const __mmask16 is = _mm512_cmp_ps_mask(some, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    _mm512_storeu_ps(value + found, _mm512_maskz_compress_ps(is, some));
    _mm512_storeu_si512(where + found, _mm512_maskz_compress_epi32(is, at));
    found += __builtin_popcount(is);
  }
  return found;
}
#else
INLINE __m256i first(int lanes) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE Vector load(const float* from, int lanes) { return _mm256_maskload_ps(from, first(lanes)); }
INLINE void store(float* to, Vector x, int lanes) { _mm256_maskstore_ps(to, first(lanes), x); }
INLINE Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
INLINE Vector root(Vector x) { return _mm256_sqrt_ps(x); }
INLINE Vector all(float x) { return _mm256_set1_ps(x); }
INLINE long not_zero(const float* x, long count, int* where, float* value) {
  long found = 0;
  for (long i = 0; i < count; i++) {
    where[found] = static_cast<int>(i), value[found] = x[i];
    found += x[i] != 0;
  }
  return found;
}
#endif

}  // namespace
