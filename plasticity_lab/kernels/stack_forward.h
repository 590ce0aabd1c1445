// The forward pass of a stack of linear layers with a piecewise linear activation between them, for the batch of one run.
//
// Legend: B examples, I inputs, O outputs, W numbers of a row as it is stored, of which O are outputs and the others 0.
#pragma once

#include <vector>

#include "brightness.h"
#include "linear.h"
#include "tensors.h"

namespace {

// x above 0, and slope · x elsewhere, or for ReLU 0. The operations are those of activations/relu.py and activations/leaky_relu.py.
struct Bent {
  bool relu;
  float below;

  void of(long count, const float* __restrict x, float* __restrict to) const {
    if (relu)
      for (long i = 0; i < count; i++) to[i] = x[i] < 0 ? 0 : x[i];
    else
      for (long i = 0; i < count; i++) to[i] = x[i] * (x[i] > 0 ? 1.0f : below);
  }
  // x becomes the gradient by it; by: the gradient by the activation of it.
  void back(long count, float* __restrict x, const float* __restrict by) const {
    if (relu)
      for (long i = 0; i < count; i++) x[i] = x[i] <= 0 ? 0 : by[i];
    else
      for (long i = 0; i < count; i++) x[i] = by[i] * (x[i] > 0 ? 1.0f : below);
  }
};

struct Dense {
  long inputs, outputs, width;
  const float *weight, *bias;  // (I, W), (W)
  float *h, *after;            // its output (B, W), and the activation of it (B, O)
};

inline void forward(long batch, const float* x, const std::vector<Dense>& layers, const Bent& activation, Sparse& few) {
  for (const Dense& layer : layers) {
    const bool are_few = sparse(x, batch, layer.inputs, few);
    linear_product(batch, layer.inputs, layer.width, x, are_few ? &few : nullptr, layer.weight, layer.bias, layer.h);
    if (&layer == &layers.back()) return;
    for (long b = 0; b < batch; b++) activation.of(layer.outputs, layer.h + b * layer.width, layer.after + b * layer.outputs);
    x = layer.after;
  }
}

// Images of C channels that lie one after another, as numbers.
struct Shown {
  const uint8_t* image;  // (R, D)
  long images, pixels, channels;
  Brightness brightness;

  void read(long at, float* to) const {
    STD_TORCH_CHECK(at >= 0 && at < images, "a batch names an image that is not there");
    const long each = pixels / channels;
    for (long c = 0; c < channels; c++) brightness.read(c, each, image + at * pixels + c * each, to + c * each);
  }
};

}  // namespace
