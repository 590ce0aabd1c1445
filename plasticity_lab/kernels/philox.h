// Uniform numbers of one run and step, as randomness/device.py draws them: Philox-4×32-10. Source: Salmon et al. 2011.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vectors.h"

namespace {

using Words = uint64_t __attribute__((vector_size(LANES * sizeof(float))));  // a word of Philox is in the lower half of each
using Bits = uint32_t __attribute__((vector_size(LANES * sizeof(float))));

// The whole products of lower halves.
#if defined(__AVX512F__)
INLINE Words product(Words x, int64_t by) {
  return reinterpret_cast<Words>(_mm512_mul_epu32(reinterpret_cast<__m512i>(x), _mm512_set1_epi64(by)));
}
#else
INLINE Words product(Words x, int64_t by) {
  return reinterpret_cast<Words>(_mm256_mul_epu32(reinterpret_cast<__m256i>(x), _mm256_set1_epi64x(by)));
}
#endif

// The four words of these counters. Their upper halves are of no use.
INLINE void philox(const int64_t* key, int64_t step, Words lane, Words (&c)[4]) {
  const uint64_t low = step & 0xFFFFFFFF, high = step >> 32;
  uint64_t k0 = key[0], k1 = key[1];
  c[0] = lane, c[1] = lane ^ lane, c[2] = c[1] + low, c[3] = c[1] + high;
  UNROLLED for (int round = 0; round < 10; round++) {
    const Words p0 = product(c[0], 0xD2511F53), p1 = product(c[2], 0xCD9E8D57);
    c[0] = (p1 >> 32) ^ c[1] ^ k0, c[1] = p1;
    c[2] = (p0 >> 32) ^ c[3] ^ k1, c[3] = p0;
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
}

// `elements` numbers in [0, 1) on a grid of 2⁻²⁴: first all first words, then all second ones.
inline void uniforms(const int64_t* key, int64_t step, long elements, float* to) {
  const long lanes = (elements + 3) / 4;
  Words even;
  UNROLLED for (int i = 0; i < LANES / 2; i++) even[i] = 2 * i;
  for (long lane = 0; lane < lanes; lane += LANES, even += LANES) {
    Words one[4], other[4];
    philox(key, step, even, one), philox(key, step, even + 1, other);
    for (int word = 0; word < 4; word++) {
      const Bits bits = reinterpret_cast<Bits>((one[word] & 0xFFFFFFFF) | (other[word] << 32)) >> 8;
      const Vector numbers = __builtin_convertvector(reinterpret_cast<Whole>(bits), Vector) * all(0x1p-24f);
      const long at = word * lanes + lane, count = std::min(lanes - lane, elements - at);
      if (count >= LANES) store(to + at, numbers);
      else if (count > 0) store(to + at, numbers, static_cast<int>(count));
    }
  }
}

}  // namespace
