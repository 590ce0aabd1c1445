// Max pooling of images whose channels lie next to each other, on one core of a CPU, and its gradient.
//
// The gradient goes to the first largest pixel of a window, row by row; what is not a number wins. Where windows overlap, a pixel
// takes its windows' gradients in the windows' order, row by row.
//
// Legend: N images, H, W rows and columns, C channels, R, S rows and columns of windows.

#include <algorithm>

#include "tensors.h"
#include "vectors.h"

namespace {

// Windows of size × size pixels in steps of `stride`, of which the first begins `above` and `left` of the image.
struct Windows {
  long rows, columns, channels, size, stride, above, left;

  // From where to where a window that begins at `begin` lies on a side of the image.
  std::pair<long, long> met(long begin, long side) const { return {std::max(0l, begin), std::min(side, begin + size)}; }

  // For each vector of channels of each window: work(its place among the answers, its first channel, rows and columns as `met`
  // has them, how many channels count if not all).
  template <class Work>
  void each(long high, long wide, Work work) const {
    for (long r = 0; r < high; r++)
      for (long s = 0; s < wide; s++) {
        const auto [top, bottom] = met(r * stride - above, rows);
        const auto [first, end] = met(s * stride - left, columns);
        const long at = (r * wide + s) * channels;
        long c = 0;
        for (; c + LANES <= channels; c += LANES) work(at + c, c, top, bottom, first, end);
        if (c < channels) work(at + c, c, top, bottom, first, end, static_cast<int>(channels - c));
      }
  }
};

// Values (N, R, S, C) and which of the image's pixels they are, row by row: as floats, which tell 2²⁴ pixels apart.
std::tuple<Tensor, Tensor> pool(const Tensor& x_given, int64_t size, int64_t stride, int64_t above, int64_t left,
                                        int64_t high, int64_t wide) {
  const Tensor x = in_one_piece(x_given);
  check(x);
  const Windows windows{x.size(1), x.size(2), x.size(3), size, stride, above, left};
  const long pixels = windows.rows * windows.columns * windows.channels, answers = high * wide * windows.channels;
  Tensor found = empty({x.size(0), high, wide, windows.channels});
  Tensor where = empty({x.size(0), high, wide, windows.channels});
  for (long n = 0; n < x.size(0); n++) {
    const float* image = x.const_data_ptr<float>() + n * pixels;
    float *values = found.mutable_data_ptr<float>() + n * answers, *places = where.mutable_data_ptr<float>() + n * answers;
    windows.each(high, wide, [&](long at, long c, long top, long bottom, long first, long end, auto... lanes) {
      Vector best = load(image + (top * windows.columns + first) * windows.channels + c, lanes...);
      Vector place = all(static_cast<float>(top * windows.columns + first));
      for (long i = top; i < bottom; i++)
        for (long j = first; j < end; j++) {
          const Vector own = load(image + (i * windows.columns + j) * windows.channels + c, lanes...);
          const auto wins = (own > best) | (own != own);
          best = wins ? own : best;
          place = wins ? all(static_cast<float>(i * windows.columns + j)) : place;
        }
      store(values + at, best, lanes...);
      store(places + at, place, lanes...);
    });
  }
  return {found, where};
}

// The gradient by x (N, H, W, C) from that by the values.
Tensor pool_input(const Tensor& delta_given, const Tensor& where, int64_t size, int64_t stride, int64_t above,
                      int64_t left, int64_t rows, int64_t columns) {
  const Tensor delta = in_one_piece(delta_given);
  check(delta), check(where);
  const Windows windows{rows, columns, delta.size(3), size, stride, above, left};
  const long high = delta.size(1), wide = delta.size(2), pixels = rows * columns * windows.channels;
  Tensor gradient = empty({delta.size(0), rows, columns, windows.channels});
  for (long n = 0; n < delta.size(0); n++) {
    const long answers = high * wide * windows.channels;
    const float *given = delta.const_data_ptr<float>() + n * answers, *places = where.const_data_ptr<float>() + n * answers;
    float* image = gradient.mutable_data_ptr<float>() + n * pixels;
    std::fill_n(image, pixels, 0.0f);
    windows.each(high, wide, [&](long at, long c, long top, long bottom, long first, long end, auto... lanes) {
      const Vector own = load(given + at, lanes...), place = load(places + at, lanes...);
      for (long i = top; i < bottom; i++)
        for (long j = first; j < end; j++) {
          float* pixel = image + (i * columns + j) * windows.channels + c;
          store(pixel, load(pixel, lanes...) + (place == all(static_cast<float>(i * columns + j)) ? own : all(0)), lanes...);
        }
    });
  }
  return gradient;
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("pool", TORCH_BOX(&pool));
  library.impl("pool_input", TORCH_BOX(&pool_input));
}
