// Uniform numbers of one run and step, as randomness/device.py draws them: Philox-4×32-10. Source: Salmon et al. 2011.
#pragma once

#include <cstdint>

namespace {

// Numbers in [0, 1) on a grid of 2⁻²⁴, into 4 · lanes places.
inline void uniforms(const int64_t* key, int64_t step, long lanes, float* __restrict to) {
  constexpr uint64_t ONE = 0xD2511F53, OTHER = 0xCD9E8D57;
  const uint64_t word = 0xFFFFFFFF, low = step & word, high = step >> 32 & word;
  for (long lane = 0; lane < lanes; lane++) {
    uint64_t c0 = lane, c1 = 0, c2 = low, c3 = high, k0 = key[0], k1 = key[1];
    _Pragma("GCC unroll 10") for (int round = 0; round < 10; round++) {
      const uint64_t p0 = c0 * ONE, p1 = c2 * OTHER;
      c0 = (p1 >> 32) ^ c1 ^ k0, c1 = p1 & word;
      c2 = (p0 >> 32) ^ c3 ^ k1, c3 = p0 & word;
      k0 = (k0 + 0x9E3779B9) & word, k1 = (k1 + 0xBB67AE85) & word;
    }
    to[lane] = static_cast<float>(static_cast<int32_t>(c0 >> 8)) * 0x1p-24f;
    to[lanes + lane] = static_cast<float>(static_cast<int32_t>(c1 >> 8)) * 0x1p-24f;
    to[2 * lanes + lane] = static_cast<float>(static_cast<int32_t>(c2 >> 8)) * 0x1p-24f;
    to[3 * lanes + lane] = static_cast<float>(static_cast<int32_t>(c3 >> 8)) * 0x1p-24f;
  }
}

}  // namespace
