// Convolutions by fewer multiplications along one axis (Winograd; Lavin and Gray 2016). Eight rows of pixels make six rows of outputs
// by a kernel of 3 × 3, and four by one of 5 × 5. From above to below both sides of the sum are taken at eight points (0, 1, −1, 2,
// −2, 1/2, −1/2 and infinity), multiplied there as an ordinary convolution along a row, and brought back: 8 products along the axis
// instead of 18 or 20. The gradient by the weights likewise, from the pixels and the gradients of the outputs. Results have an error
// two to four times that of a direct sum, and do not depend on how wide a vector is.
//
// Legend: C input channels, R, S rows and columns of the output, O output channels.
#pragma once

#include "image.h"
#include "products.h"

namespace {

constexpr int HEIGHT = 8;  // points, and rows of pixels

// Rows of outputs that they make with kernels of so many rows.
template <int SIDE>
constexpr long MADE = HEIGHT + 1 - SIDE;

// Along the axis: from pixels to points; from N weights, or gradients of outputs; and from points back to N outputs, or weights.
struct PixelsAtEight {
  static constexpr int FROM = HEIGHT, TO = HEIGHT;
  INLINE static void turn(const Vector* d, Vector* at) {
    // Where even and odd places are added and subtracted: at 1, at 2 and at 1/2.
    const Vector even[3] = {fused(all(-4.25f), d[4], d[2] + d[6]), fused(all(-1.25f), d[4], fused(all(0.25f), d[2], d[6])),
                            fused(all(-5), d[4], fused(all(4), d[2], d[6]))};
    const Vector odd[3] = {fused(all(-4.25f), d[3], d[1] + d[5]),
                           fused(all(-2.5f), d[3], fused(all(0.5f), d[1], all(2) * d[5])),
                           fused(all(-2.5f), d[3], fused(all(2), d[1], all(0.5f) * d[5]))};
    at[0] = fused(all(5.25f), d[4] - d[2], d[0] - d[6]);
    UNROLLED for (int i = 0; i < 3; i++) at[1 + 2 * i] = even[i] + odd[i], at[2 + 2 * i] = even[i] - odd[i];
    at[7] = fused(all(5.25f), d[3] - d[5], d[7] - d[1]);
  }
};

template <int N>
struct GivenAtEight {
  static constexpr int FROM = N, TO = HEIGHT;
  INLINE static void turn(const Vector* x, Vector* at) {
    constexpr float FACTORS[3] = {-2.f / 9, 1.f / 90, 32.f / 45}, POINTS[3] = {1, 2, 0.5f};
    at[0] = x[0];
    UNROLLED for (int i = 0; i < 3; i++) {
      Vector sums[2] = {x[0], all(POINTS[i]) * x[1]};  // of even and odd places
      float power = POINTS[i];
      UNROLLED for (int n = 2; n < N; n++) sums[n % 2] = fused(all(power *= POINTS[i]), x[n], sums[n % 2]);
      at[1 + 2 * i] = all(FACTORS[i]) * (sums[0] + sums[1]), at[2 + 2 * i] = all(FACTORS[i]) * (sums[0] - sums[1]);
    }
    at[7] = x[N - 1];
  }
};

template <int N>
struct BackFromEight {
  static constexpr int FROM = HEIGHT, TO = N;
  INLINE static void turn(const Vector* at, Vector* y) {
    const Vector one[2] = {at[1] + at[2], at[1] - at[2]}, two[2] = {at[3] + at[4], at[3] - at[4]};
    const Vector half[2] = {at[5] + at[6], at[5] - at[6]};
    y[0] = at[0] + (one[0] + two[0] + half[0]);
    UNROLLED for (int n = 1; n < N; n++)
      y[n] = fused(all(1 << n), two[n % 2], fused(all(1.f / (1 << n)), half[n % 2], one[n % 2]));
    y[N - 1] = y[N - 1] + at[7];
  }
};

// Rows of so many numbers by `Axis`, a vector of each at a time; of the rows that are made, the first `there`.
template <class Axis>
inline void lines_turned(long count, const float* const* from, float* to, long line, long there = Axis::TO) {
  const auto turned = [&]<bool PART>(long z, int lanes) {
    Vector taken[Axis::FROM], made[Axis::TO];
    UNROLLED for (int n = 0; n < Axis::FROM; n++) taken[n] = PART ? load(from[n] + z, lanes) : load(from[n] + z);
    Axis::turn(taken, made);
    UNROLLED for (int n = 0; n < Axis::TO; n++) {
      if (n >= there) continue;
      if (PART) store(to + n * line + z, made[n], lanes);
      else store(to + n * line + z, made[n]);
    }
  };
  long z = 0;
  for (; z + LANES <= count; z += LANES) turned.template operator()<false>(z, 0);
  if (z < count) turned.template operator()<true>(z, static_cast<int>(count - z));
}

// What it takes, counted in multiplications of a vector of 16 numbers: a vector of pixels to the points, and one of outputs back, take
// as long as 35 and 45 of them (an EPYC of Zen 4).
template <int SIDE>
inline long by_lines(long rows, long columns, long channels, long outputs) {
  const long made = covering(outputs, 16);
  return covering(rows, MADE<SIDE>) * columns * (HEIGHT * SIDE * channels * made + 35 * channels / 16 + 45 * made);
}

// How far apart lines of so many numbers are laid out: where that is some KB exactly, few of them fit into the cache together.
constexpr long apart(long line) { return line + 16; }

// The work of one layer of one run, with room for what is made meanwhile.
template <int SIDE>
struct Lines {
  static constexpr long EACH = MADE<SIDE>;
  Image image;
  long outputs, rows, columns;
  long span = SIDE * image.channels, line = image.line(), delta_line = columns * outputs;
  long line_step = apart(line), delta_step = apart(delta_line);  // of lines that are laid out here
  // Groups of EACH rows of outputs, and how many at once: so many that weights at a point serve often while they are near.
  long down = covering(rows, EACH), together = std::min(down, covering(64, columns));
  std::vector<float> zeros = std::vector<float>(std::max(line, delta_line), 0);  // a row outside of the image
  // At the points: pixels, (HEIGHT, together, line_step), and what becomes of them or their gradients, (…, delta_step).
  std::unique_ptr<float[]> pixels = unset(HEIGHT * together * line_step), deltas = unset(HEIGHT * together * delta_step);

  // The pixels of `count` groups from the first on. at: an image with its sides.
  void pixels_at_points(const float* at, long first, long count) {
    for (long t = 0; t < count; t++) {
      const float* from[HEIGHT];
      for (long n = 0; n < HEIGHT; n++) {
        const long row = (first + t) * EACH + n - image.margin;
        from[n] = row >= 0 && row < image.rows ? at + row * line : zeros.data();
      }
      lines_turned<PixelsAtEight>(line, from, &pixels[t * line_step], together * line_step);
    }
  }

  // Weights (SIDE, SIDE, C, O) at the points.
  std::unique_ptr<float[]> weights_at_points(const float* weight) const {
    auto found = unset(HEIGHT * span * outputs);
    const float* from[SIDE];
    for (long n = 0; n < SIDE; n++) from[n] = weight + n * span * outputs;
    lines_turned<GivenAtEight<SIDE>>(span * outputs, from, found.get(), span * outputs);
    return found;
  }

  // y (R, S, O) = start (O) + Σ over a patch of an image · weight, which is given at the points.
  void correlate(const float* at, const float* weight, const float* start, float* y) {
    Nothing none;
    for (long first = 0; first < down; first += together) {
      const long count = std::min(together, down - first);
      pixels_at_points(at, first, count);
      for (long p = 0; p < HEIGHT; p++)
        for (long t = 0; t < count; t++)  // a start at the point 1 is a start of every row
          product<PIXELS, CHANNELS>(columns, outputs,
                                    {{&pixels[(p * together + t) * line_step], image.channels, 1}, weight + p * span * outputs, outputs,
                                     {span}, p == 1 ? start : nullptr, 0, &deltas[(p * together + t) * delta_step], outputs},
                                    none);
      for (long t = 0; t < count; t++) {
        const long row = (first + t) * EACH;
        const float* from[HEIGHT];
        for (long p = 0; p < HEIGHT; p++) from[p] = &deltas[(p * together + t) * delta_step];
        lines_turned<BackFromEight<EACH>>(delta_line, from, y + row * delta_line, delta_line, rows - row);
      }
    }
  }

  // sums (HEIGHT, SIDE, C, O) += the gradients by weights, at the points, of one image and delta (R, S, O).
  void add_weights(const float* at, const float* delta, float* sums) {
    Nothing none;
    for (long first = 0; first < down; first += together) {
      const long count = std::min(together, down - first);
      pixels_at_points(at, first, count);
      for (long t = 0; t < count; t++) {
        const float* from[EACH];
        for (long n = 0; n < EACH; n++) {
          const long row = (first + t) * EACH + n;
          from[n] = row < rows ? delta + row * delta_line : zeros.data();
        }
        lines_turned<GivenAtEight<EACH>>(delta_line, from, &deltas[t * delta_step], together * delta_step);
      }
      for (long p = 0; p < HEIGHT; p++) {
        float* sum = sums + p * span * outputs;
        product<PIXELS, CHANNELS>(span, outputs,
                                  {{&pixels[p * together * line_step], 1, image.channels}, &deltas[p * together * delta_step], outputs,
                                   {columns, count, line_step, delta_step}, sum, outputs, sum, outputs},
                                  none);
      }
    }
  }

  // found (SIDE, SIDE, C, O) from their sums at the points.
  void weights(const float* sums, float* found) const {
    const float* from[HEIGHT];
    for (long p = 0; p < HEIGHT; p++) from[p] = sums + p * span * outputs;
    lines_turned<BackFromEight<SIDE>>(span * outputs, from, found, span * outputs);
  }
};

}  // namespace
