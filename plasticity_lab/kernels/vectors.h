// A vector of floats as the processor has it, and what is done with one. Each operation is rounded by itself, and exactly, but
// for `fused`: so numbers do not depend on how many lanes a vector has.
#pragma once

#include <immintrin.h>

#include <cstdint>

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

// Of each 2 · half lanes, the first half of b goes to the place of the second half of a, and that to its place.
INLINE void exchange(Vector& a, Vector& b, int half) {
  const Whole lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, second = (lane & half) != 0;
  const Machine one = a, other = b;
  a = _mm512_permutex2var_ps(one, reinterpret_cast<__m512i>(second ? lane - half + LANES : lane), other);
  b = _mm512_permutex2var_ps(one, reinterpret_cast<__m512i>(second ? lane + LANES : lane + half), other);
}

// Which of the next numbers are not 0, a bit for each: of at most a vector's lanes, and of `count`.
INLINE uint32_t not_zero(const float* x, long count) {
  const Machine some = count < LANES ? load(x, static_cast<int>(count)) : load(x);
  return _mm512_cmp_ps_mask(some, _mm512_setzero_ps(), _CMP_NEQ_UQ);
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
INLINE void exchange(Vector& a, Vector& b, int half) {
  const Whole lane = {0, 1, 2, 3, 4, 5, 6, 7}, second = (lane & half) != 0;
  const Vector from_a = _mm256_permutevar8x32_ps(a, reinterpret_cast<__m256i>(lane + half));
  const Vector from_b = _mm256_permutevar8x32_ps(b, reinterpret_cast<__m256i>(lane - half));
  a = second ? from_b : a;
  b = second ? b : from_a;
}
INLINE uint32_t not_zero(const float* x, long count) {
  const Machine some = count < LANES ? load(x, static_cast<int>(count)) : load(x);
  return _mm256_movemask_ps(_mm256_cmp_ps(some, _mm256_setzero_ps(), _CMP_NEQ_UQ));
}
#endif

}  // namespace
