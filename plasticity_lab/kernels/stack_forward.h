// The forward pass of a stack of linear layers with an activation between them, for the batch of one run.
//
// Legend: B examples, I inputs, O outputs, W numbers of a row as it is stored, of which O are outputs and the others 0.
#pragma once

#include <vector>

#include "brightness.h"
#include "linear.h"
#include "stack_activation.h"
#include "tensors.h"

namespace {

struct Dense {
  long inputs, outputs, width;
  const float *weight, *bias;  // (I, W), (W)
  float *h, *after;            // its output (B, W), and the activation of it (B, O)
  const float* drawn;          // uniform numbers for that (B, O); null if it takes none, and in evaluation
};

inline void forward(long batch, const float* x, const std::vector<Dense>& layers, const Activation& activation, Sparse& few) {
  for (const Dense& layer : layers) {
    const bool are_few = sparse(x, batch, layer.inputs, few);
    linear_product(batch, layer.inputs, layer.width, x, are_few ? &few : nullptr, layer.weight, layer.bias, layer.h);
    if (&layer == &layers.back()) return;
    for (long b = 0; b < batch; b++)
      activation.value(layer.outputs, layer.h + b * layer.width, layer.drawn ? layer.drawn + b * layer.outputs : nullptr,
                       layer.after + b * layer.outputs);
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
