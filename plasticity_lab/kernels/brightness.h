// Bytes of images as numbers, by a table of the number that stands for each byte.
#pragma once

#include <cmath>
#include <cstdint>

namespace {

class Brightness {
 public:
  // table (C, 256), of C channels.
  Brightness(const float* table, long channels) : table(table), white(std::round(1 / table[1])), part(1 / white) {
    for (long i = 0; i < channels * 256; i++) divided = divided && shared_out(static_cast<float>(i % 256)) == table[i];
  }

  // The pixels of a channel of one image.
  void read(long channel, long count, const uint8_t* __restrict image, float* __restrict to) const {
    if (divided) {
      for (long i = 0; i < count; i++) to[i] = shared_out(image[i]);
    } else {
      const float* __restrict own = table + channel * 256;
      for (long i = 0; i < count; i++) to[i] = own[image[i]];
    }
  }

 private:
  const float* table;
  float white, part;
  bool divided = true;  // whether each number is its byte over white, exactly rounded: vectors of it take a third of the time

  // byte / white by a product, and a second one by what the first lacks. The constructor sees that it is exact.
  float shared_out(float byte) const {
    const float about = byte * part;
    return __builtin_fmaf(__builtin_fmaf(-about, white, byte), part, about);
  }
};

}  // namespace
