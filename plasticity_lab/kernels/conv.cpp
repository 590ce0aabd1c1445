// K convolutions side by side on one core of a CPU, of images whose channels lie next to each other: the product, and its
// gradients by the input and by weights and bias.
//
// They are matrix products whose left matrix is never laid out: the numbers of a patch that come from one row of the image lie
// one after another, and the next patch begins one pixel later. Arithmetic as in linear.cpp; a sum takes its products row by row
// of the patch (of the image, by the weights), column by column, and last by channel. Products with the zeros around an image are
// left out above and below, and taken at the sides. Most kernels of 3 × 3 and 5 × 5 are taken by points instead; see lines.h and
// winograd.h.
//
// Legend: K runs, B examples, C input channels, H, W rows and columns, O output channels, R, S rows and columns of the output.

#include <algorithm>

#include "image.h"
#include "lines.h"
#include "products.h"
#include "tensors.h"
#include "winograd.h"

namespace {

// Takes a layer's sums, all at once or by points: the way that takes the least time. It depends on the layer's shape alone. What is
// 0 exactly by direct sums, as the answers to an empty part of a board are, is not by points: so lines of 3 are for pictures.
template <class Direct, class InTiles, class InLines>
void fastest(const Image& image, long kernel, long rows, long columns, long outputs, Direct direct, InTiles in_tiles,
             InLines in_lines) {
  const long channels = image.channels, whole = rows * columns * kernel * kernel * channels * covering(outputs, 16);
  if (kernel == 5 && by_lines<5>(rows, columns, channels, outputs) < whole * 8 / 10)
    return in_lines(Lines<5>{image, outputs, rows, columns});
  if (kernel == 3) {
    const long lines = by_lines<3>(rows, columns, channels, outputs), tiles = by_tiles(rows, columns, channels, outputs);
    if (tiles < lines && tiles < whole * 9 / 10) return in_tiles();
    if (lines <= tiles && lines < whole * 8 / 10 && rows >= 24) return in_lines(Lines<3>{image, outputs, rows, columns});
  }
  direct();
}

// y (R, S, O) = start (O) + Σ over a patch of image · weight, which is (kernel, kernel, C, O).
void correlate(const Image& image, const float* at, long kernel, const float* weight, long outputs, const float* start, float* y,
               long rows, long columns) {
  const long span = kernel * image.channels;
  Nothing nothing;
  for (long r = 0; r < rows; r++) {
    const auto [i, end] = image.met(r, kernel);
    product<PIXELS, CHANNELS>(columns, outputs,
                              {{at + (r + i - image.margin) * image.line(), image.channels, 1}, weight + i * span * outputs,
                               outputs, {span, end - i, image.line(), span * outputs}, start, 0, y + r * columns * outputs, outputs},
                              nothing);
  }
}

// The same of all images (K, B, H, W, C). turn: (weights of a run as they are stored, room) lays them out as `correlate` has them.
template <class Turn>
Tensor correlated(const Tensor& images, const Tensor& weight, Turn turn, const float* starts, long outputs, long kernel,
                      long margin) {
  const long runs = images.size(0), batch = images.size(1), stored = weight.size(1) * weight.size(2);
  const Image image{images.size(2), images.size(3), images.size(4), margin};
  const long rows = image.rows + 2 * margin - kernel + 1, columns = image.columns + 2 * margin - kernel + 1;
  Tensor found = empty({runs, batch, rows, columns, outputs});
  std::vector<float> turned(stored), room;
  for (long k = 0; k < runs; k++) {
    turn(weight.const_data_ptr<float>() + k * stored, turned.data());
    const float* own = images.const_data_ptr<float>() + k * batch * image.size();
    const float* start = starts ? starts + k * outputs : nullptr;
    float* y = found.mutable_data_ptr<float>() + k * batch * rows * columns * outputs;
    const auto each = [&](auto work) {
      for (long b = 0; b < batch; b++) work(image.with_sides(own + b * image.size(), room), y + b * rows * columns * outputs);
    };
    const auto direct = [&] {
      each([&](const float* at, float* to) { correlate(image, at, kernel, turned.data(), outputs, start, to, rows, columns); });
    };
    const auto in_tiles = [&] { correlate_by_tiles(image, own, batch, turned.data(), outputs, start, y, rows, columns); };
    const auto in_lines = [&](auto lines) {
      const auto weights = lines.weights_at_points(turned.data());
      each([&](const float* at, float* to) { lines.correlate(at, weights.get(), start, to); });
    };
    fastest(image, kernel, rows, columns, outputs, direct, in_tiles, in_lines);
  }
  return found;
}

// h (K, B, R, S, O) = bias (K, 1, O) + patches of x (K, B, H, W, C) · weight (K, C · kernel², O), channel by channel.
Tensor conv(const Tensor& x_given, const Tensor& weight, const Tensor& bias, int64_t kernel, int64_t margin) {
  const Tensor x = in_one_piece(x_given);
  check(x), check(weight), check(bias);
  const long channels = x.size(4), outputs = weight.size(2), places = kernel * kernel;
  const auto by_place = [=](const float* w, float* turned) {
    for (long p = 0; p < places; p++)
      for (long c = 0; c < channels; c++)
        std::copy_n(w + (c * places + p) * outputs, outputs, turned + (p * channels + c) * outputs);
  };
  return correlated(x, weight, by_place, bias.const_data_ptr<float>(), outputs, kernel, margin);
}

// The gradient by x from that by h, delta (K, B, R, S, O): its own patches times the weights of a kernel turned by 180 degrees.
Tensor conv_input(const Tensor& delta_given, const Tensor& weight, int64_t kernel, int64_t margin) {
  const Tensor delta = in_one_piece(delta_given);
  check(delta), check(weight);
  const long outputs = delta.size(4), places = kernel * kernel, channels = weight.size(1) / places;
  const auto around = [=](const float* w, float* turned) {
    for (long p = 0; p < places; p++)
      for (long o = 0; o < outputs; o++)
        for (long c = 0; c < channels; c++)
          turned[(p * outputs + o) * channels + c] = w[(c * places + places - 1 - p) * outputs + o];
  };
  return correlated(delta, weight, around, nullptr, channels, kernel, kernel - 1 - margin);
}

// sums (kernel, kernel, C, O) += the gradients by weights of one image and delta (R, S, O).
void add_weights(const Image& image, const float* at, long kernel, const float* delta, long outputs, long rows, long columns,
                 float* sums) {
  const long span = kernel * image.channels;
  Nothing nothing;
  for (long i = 0; i < kernel; i++, sums += span * outputs) {
    const long r = std::max(0l, image.margin - i), end = std::min(rows, image.rows + image.margin - i);
    product<PIXELS, CHANNELS>(span, outputs,
                              {{at + (r + i - image.margin) * image.line(), 1, image.channels}, delta + r * columns * outputs,
                               outputs, {columns, end - r, image.line(), columns * outputs}, sums, outputs, sums, outputs},
                              nothing);
  }
}

// The gradients by weight (K, C · kernel², O) and bias (K, 1, O).
std::tuple<Tensor, Tensor> conv_weight(const Tensor& x_given, const Tensor& delta_given, int64_t kernel,
                                               int64_t margin) {
  const Tensor x = in_one_piece(x_given), delta = in_one_piece(delta_given);
  check(x), check(delta);
  const long runs = x.size(0), batch = x.size(1), channels = x.size(4), places = kernel * kernel;
  const long rows = delta.size(2), columns = delta.size(3), outputs = delta.size(4);
  const Image image{x.size(2), x.size(3), channels, margin};
  Tensor weight = empty({runs, channels * places, outputs});
  Tensor bias = empty({runs, 1, outputs});
  std::vector<float> found, room;
  for (long k = 0; k < runs; k++) {
    found.assign(places * channels * outputs, 0);
    const float* own = x.const_data_ptr<float>() + k * batch * image.size();
    const float* d = delta.const_data_ptr<float>() + k * batch * rows * columns * outputs;
    const auto each = [&](auto work) {
      for (long b = 0; b < batch; b++) work(image.with_sides(own + b * image.size(), room), d + b * rows * columns * outputs);
    };
    const auto direct = [&] {
      each([&](const float* at, const float* by) { add_weights(image, at, kernel, by, outputs, rows, columns, found.data()); });
    };
    const auto in_tiles = [&] { weights_by_tiles(image, own, batch, d, outputs, rows, columns, found.data()); };
    const auto in_lines = [&](auto lines) {
      std::vector<float> sums(HEIGHT * lines.span * outputs, 0);
      each([&](const float* at, const float* by) { lines.add_weights(at, by, sums.data()); });
      lines.weights(sums.data(), found.data());
    };
    fastest(image, kernel, rows, columns, outputs, direct, in_tiles, in_lines);
    float* w = weight.mutable_data_ptr<float>() + k * found.size();
    for (long p = 0; p < places; p++)
      for (long c = 0; c < channels; c++)
        std::copy_n(&found[(p * channels + c) * outputs], outputs, w + (c * places + p) * outputs);
    sum_rows(batch * rows * columns, outputs, d, outputs, bias.mutable_data_ptr<float>() + k * outputs);
  }
  return {weight, bias};
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("conv", TORCH_BOX(&conv));
  library.impl("conv_input", TORCH_BOX(&conv_input));
  library.impl("conv_weight", TORCH_BOX(&conv_weight));
}
