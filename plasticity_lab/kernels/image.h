// Images as convolutions read them, and the tiles in which their products are taken.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr int PIXELS = 12, CHANNELS = 2;  // sums that fit into 32 registers, a vector of channels each
#else
constexpr int PIXELS = 6, CHANNELS = 2;  // into 16
#endif

// How many pieces of that length cover so many rows or columns.
constexpr long covering(long pixels, long length) { return (pixels + length - 1) / length; }

// Numbers that are written before they are read.
inline std::unique_ptr<float[]> unset(long count) { return std::make_unique_for_overwrite<float[]>(count); }

// Images whose pixels have `channels` numbers, with `margin` pixels of zeros around each.
struct Image {
  long rows, columns, channels, margin;

  long size() const { return rows * columns * channels; }
  long line() const { return (columns + 2 * margin) * channels; }

  // Where it lies with the zeros at its sides: as it is where there are none, else laid out in `room`.
  const float* with_sides(const float* from, std::vector<float>& room) const {
    if (!margin) return from;
    room.assign(rows * line(), 0);
    for (long r = 0; r < rows; r++)
      std::memcpy(&room[r * line() + margin * channels], from + r * columns * channels, columns * channels * sizeof(float));
    return room.data();
  }

  // The rows of a patch, first and behind the last, that meet the image where the output has row r: the others are zeros.
  std::pair<long, long> met(long r, long kernel) const {
    return {std::max(0l, margin - r), std::min(kernel, rows + margin - r)};
  }
};

}  // namespace
