// Convolutions of 3 × 3 by a quarter of the multiplications (Winograd; Lavin and Gray 2016, section 4): of a tile of 4 × 4 outputs,
// and the 6 × 6 pixels that it is made of, both sides of the sum over channels are taken at six points (0, 1, −1, 2, −2 and
// infinity) along rows and columns, multiplied there, and brought back. The gradient by the weights likewise, from the same pixels
// and the gradients of a tile to the weights. Results have an error three to five times that of a direct sum, and do not depend on
// how wide a vector is.
//
// Legend: B examples, C input channels, R, S rows and columns of the output, O output channels, T tiles.
#pragma once

#include "image.h"
#include "products.h"

namespace {

constexpr int POINTS = 6, PLACES = POINTS * POINTS, KERNEL = 3, EACH = POINTS + 1 - KERNEL;  // EACH: the side of a tile of outputs

// Along one axis: from pixels to points; from N weights, or gradients of outputs; and from points back to N outputs, or weights.
struct Pixels {
  static constexpr int FROM = POINTS, TO = POINTS;
  INLINE static void turn(const Vector* d, Vector* at) {
    const Vector four = all(4), five = all(-5), two = all(2);
    const Vector even = fused(-four, d[2], d[4]), odd = fused(-four, d[1], d[3]);
    const Vector close = d[4] - d[2], twice = two * (d[3] - d[1]);
    at[0] = fused(four, d[0], fused(five, d[2], d[4]));
    at[1] = even + odd, at[2] = even - odd, at[3] = close + twice, at[4] = close - twice;
    at[5] = fused(four, d[1], fused(five, d[3], d[5]));
  }
};

template <int N>
struct Given {
  static constexpr int FROM = N, TO = POINTS;
  INLINE static void turn(const Vector* x, Vector* at) {
    Vector one[2], two[2];  // sums of what has even and odd places, at 1 and at 2
    UNROLLED for (int odd = 0; odd < 2; odd++) {
      one[odd] = two[odd] = x[odd];
      UNROLLED for (int i = odd + 2, power = 4; i < N; i += 2, power *= 4) {
        one[odd] = one[odd] + x[i];
        two[odd] = fused(all(power), x[i], two[odd]);
      }
      one[odd] = one[odd] * all(-1.f / 6);
      two[odd] = two[odd] * all(odd ? 1.f / 12 : 1.f / 24);
    }
    at[0] = x[0] * all(0.25f), at[1] = one[0] + one[1], at[2] = one[0] - one[1];
    at[3] = two[0] + two[1], at[4] = two[0] - two[1], at[5] = x[N - 1];
  }
};

template <int N>
struct Back {
  static constexpr int FROM = POINTS, TO = N;
  INLINE static void turn(const Vector* at, Vector* y) {
    const Vector one[2] = {at[1] + at[2], at[1] - at[2]}, two[2] = {at[3] + at[4], at[3] - at[4]};
    y[0] = at[0] + one[0] + two[0];
    UNROLLED for (int i = 1; i < N; i++) y[i] = fused(all(1 << i), two[i % 2], one[i % 2]);
    y[N - 1] = y[N - 1] + at[5];
  }
};

// Numbers in squares, each a vector of channels: (row, column) lies at row * line + column * step. Of an image's edge some are
// outside of it: those whose bit is missing in `rows` or `columns`. They are 0, and not written.
struct Square {
  float* at;
  long line, step;
  unsigned rows = ~0u, columns = ~0u;

  INLINE bool has(int row, int column) const { return rows >> row & columns >> column & 1; }
  INLINE bool whole(int side) const { return !(~(rows & columns) & ((1u << side) - 1)); }
  INLINE Square channel(long z) const { return {at + z, line, step, rows, columns}; }
};

// One vector of channels of a square by `Axis` along both its sides, plus `more`. PART: only so many lanes of it count. EDGE: not
// all numbers of a square are there.
template <class Axis, bool PART, bool EDGE>
INLINE void turned_once(Square from, Square to, Vector more, int lanes) {
  constexpr int F = Axis::FROM, N = Axis::TO;
  Vector between[N][F], taken[F], made[N];
  UNROLLED for (int c = 0; c < F; c++) {
    UNROLLED for (int r = 0; r < F; r++) {
      const float* at = from.at + r * from.line + c * from.step;
      taken[r] = EDGE && !from.has(r, c) ? all(0) : PART ? load(at, lanes) : load(at);
    }
    Axis::turn(taken, made);
    UNROLLED for (int r = 0; r < N; r++) between[r][c] = made[r];
  }
  UNROLLED for (int r = 0; r < N; r++) {
    Axis::turn(between[r], made);
    UNROLLED for (int c = 0; c < N; c++) {
      float* at = to.at + r * to.line + c * to.step;
      if (EDGE && !to.has(r, c)) continue;
      if (PART) store(at, made[c] + more, lanes);
      else store(at, made[c] + more);
    }
  }
}

template <class Axis, bool EDGE>
void all_turned(long channels, Square from, Square to, const float* start) {
  long z = 0;
  for (; z + LANES <= channels; z += LANES)
    turned_once<Axis, false, EDGE>(from.channel(z), to.channel(z), start ? load(start + z) : all(0), 0);
  if (const int lanes = static_cast<int>(channels - z))
    turned_once<Axis, true, EDGE>(from.channel(z), to.channel(z), start ? load(start + z, lanes) : all(0), lanes);
}

// All channels of a square. start: of each channel what is added to all its numbers, or null for nothing.
template <class Axis>
INLINE void turned(long channels, Square from, Square to, const float* start = nullptr) {
  if (from.whole(Axis::FROM) && to.whole(Axis::TO)) all_turned<Axis, false>(channels, from, to, start);
  else all_turned<Axis, true>(channels, from, to, start);
}

// Images (B, rows, columns, channels) of a run as tiles of `side` × `side`, `every` pixels apart, the first of them `margin` pixels
// outside of the image.
struct Tiles {
  float* images;
  long rows, columns, channels, margin, side, every, down, across;

  Square tile(long t) const {
    const long r = t / across % down * every - margin, c = t % across * every - margin;
    float* image = images + t / (down * across) * rows * columns * channels;
    return {image + (r * columns + c) * channels, columns * channels, channels, there(r, rows), there(c, columns)};
  }
  // Which of `side` pixels from `first` on lie within `count`.
  unsigned there(long first, long count) const {
    const unsigned behind = (1u << std::clamp(count - first, 0l, side)) - 1, before = (1u << std::clamp(-first, 0l, side)) - 1;
    return behind & ~before;
  }
};

// So many at a time, with what is made of them in the second cache.
constexpr long TILES_AT_ONCE = 24;

// What it takes, counted as in lines.h: to points and back takes as long as 250 and 180 multiplications.
inline long by_tiles(long rows, long columns, long channels, long outputs) {
  const long given = covering(channels, 16), made = covering(outputs, 16);
  return covering(rows, EACH) * covering(columns, EACH) * (PLACES * channels * made + 250 * given + 180 * made);
}

// What tiles are at the points: (T, PLACES, channels).
template <class Axis>
inline void at_points(const Tiles& tiles, long first, long count, float* to) {
  const long channels = tiles.channels;
  for (long t = 0; t < count; t++)
    turned<Axis>(channels, tiles.tile(first + t), {to + t * PLACES * channels, POINTS * channels, channels});
}

// y (B, R, S, O) = start (O) + Σ over a patch of image · weight, of all images of a run; weight is (KERNEL, KERNEL, C, O).
inline void correlate_by_tiles(const Image& image, const float* images, long batch, const float* weight, long outputs,
                               const float* start, float* y, long rows, long columns) {
  const long down = covering(rows, EACH), across = covering(columns, EACH), channels = image.channels;
  const Tiles given{const_cast<float*>(images), image.rows, image.columns, channels, image.margin, POINTS, EACH, down, across};
  const Tiles made{y, rows, columns, outputs, 0, EACH, EACH, down, across};
  const auto kernels = unset(PLACES * channels * outputs), pixels = unset(PLACES * TILES_AT_ONCE * channels),
             sums = unset(PLACES * TILES_AT_ONCE * outputs);
  for (long c = 0; c < channels; c++)
    turned<Given<KERNEL>>(outputs, {const_cast<float*>(weight) + c * outputs, KERNEL * channels * outputs, channels * outputs},
                          {&kernels[c * outputs], POINTS * channels * outputs, channels * outputs});
  Nothing nothing;
  for (long first = 0; first < batch * down * across; first += TILES_AT_ONCE) {
    const long count = std::min(TILES_AT_ONCE, batch * down * across - first);
    at_points<Pixels>(given, first, count, pixels.get());
    for (long p = 0; p < PLACES; p++)
      product<PIXELS, CHANNELS>(count, outputs,
                                {{&pixels[p * channels], PLACES * channels, 1}, &kernels[p * channels * outputs], outputs,
                                 {channels}, nullptr, 0, &sums[p * outputs], PLACES * outputs},
                                nothing);
    for (long t = 0; t < count; t++)
      turned<Back<EACH>>(outputs, {&sums[t * PLACES * outputs], POINTS * outputs, outputs}, made.tile(first + t), start);
  }
}

// found (KERNEL, KERNEL, C, O) = the gradients by weights of images (B, H, W, C) and delta (B, R, S, O).
inline void weights_by_tiles(const Image& image, const float* images, long batch, const float* delta, long outputs, long rows,
                             long columns, float* found) {
  const long down = covering(rows, EACH), across = covering(columns, EACH), channels = image.channels;
  const Tiles given{const_cast<float*>(images), image.rows, image.columns, channels, image.margin, POINTS, EACH, down, across};
  const Tiles deltas{const_cast<float*>(delta), rows, columns, outputs, 0, EACH, EACH, down, across};
  std::vector<float> sums(PLACES * channels * outputs, 0);
  const auto pixels = unset(PLACES * TILES_AT_ONCE * channels), there = unset(PLACES * TILES_AT_ONCE * outputs);
  Nothing nothing;
  for (long first = 0; first < batch * down * across; first += TILES_AT_ONCE) {
    const long count = std::min(TILES_AT_ONCE, batch * down * across - first);
    at_points<Pixels>(given, first, count, pixels.get());
    at_points<Given<EACH>>(deltas, first, count, there.get());
    for (long p = 0; p < PLACES; p++) {
      float* sum = &sums[p * channels * outputs];
      product<PIXELS, CHANNELS>(channels, outputs,
                                {{&pixels[p * channels], 1, PLACES * channels}, &there[p * outputs], PLACES * outputs, {count}, sum,
                                 outputs, sum, outputs},
                                nothing);
    }
  }
  for (long c = 0; c < channels; c++)
    turned<Back<KERNEL>>(outputs, {&sums[c * outputs], POINTS * channels * outputs, channels * outputs},
                         {found + c * outputs, KERNEL * channels * outputs, channels * outputs});
}

}  // namespace
