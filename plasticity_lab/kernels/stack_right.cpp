// How many held-out images each of K classifiers gets right, each a stack of linear layers; see stack_forward.h.
//
// Legend: K runs, M images of D pixels, C channels, B of them at a time.

#include <algorithm>

#include "cross_entropy.h"
#include "room.h"
#include "stack_forward.h"
#include "tensors.h"

namespace {

constexpr long AT_A_TIME = 64;  // images whose pixels and activations stay in the cache

// images (K, M, D) uint8, or (1, M, D) if all runs are shown the same; brightness (C, 256); labels (K, M); settings (K, any) of the
// activation; widths: the outputs of each layer without padding; parameters: weight (K, I, W) and bias (K, 1, W) of each layer → (K) whole.
void stack_right(const Tensor& images, const Tensor& brightness, const Tensor& labels, int64_t function,
                 const Tensor& settings, std::vector<int64_t> widths, std::vector<Tensor> parameters, const Tensor& found) {
  for (const Tensor* each : {&brightness, &settings}) check(*each);
  for (const Tensor* each : {&images, &labels, &found}) STD_TORCH_CHECK(each->is_contiguous(), "tables in one piece are needed");
  const long runs = labels.size(0), total = labels.size(1), pixels = images.size(2), copies = images.size(0);
  STD_TORCH_CHECK(parameters.size() == 2 * widths.size() && (copies == 1 || copies == runs), "other parameters are needed");
  std::vector<Room> rooms;
  std::vector<Dense> layers;
  for (size_t l = 0; l < widths.size(); l++) {
    const Tensor& weight = parameters[2 * l];
    check(weight), check(parameters[2 * l + 1]);
    STD_TORCH_CHECK(weight.size(1) == (l ? widths[l - 1] : pixels), "a layer takes what the layer before it makes");
    const long width = weight.size(2);
    float* h = rooms.emplace_back(AT_A_TIME * width).begin;
    float* after = rooms.emplace_back(AT_A_TIME * widths[l]).begin;
    layers.push_back({weight.size(1), widths[l], width, nullptr, nullptr, h, after, nullptr});
  }
  Shown shown{images.const_data_ptr<uint8_t>(), copies * total, pixels, brightness.size(0),
              Brightness(brightness.const_data_ptr<float>(), brightness.size(0))};
  int64_t* counts = found.mutable_data_ptr<int64_t>();
  std::fill_n(counts, runs, 0);
  Room x(AT_A_TIME * pixels);
  Sparse few;
  for (long begin = 0; begin < total; begin += AT_A_TIME) {
    const long batch = std::min(AT_A_TIME, total - begin);
    for (long k = 0; k < runs; k++) {
      if (k < copies)
        for (long b = 0; b < batch; b++) shown.read(k * total + begin + b, x.begin + b * pixels);
      for (size_t l = 0; l < layers.size(); l++) {
        layers[l].weight = parameters[2 * l].const_data_ptr<float>() + k * layers[l].inputs * layers[l].width;
        layers[l].bias = parameters[2 * l + 1].const_data_ptr<float>() + k * layers[l].width;
      }
      forward(batch, x.begin, layers, {function, settings.const_data_ptr<float>() + k * settings.size(1)}, few);
      const int64_t* label = labels.const_data_ptr<int64_t>() + k * total + begin;
      for (long b = 0; b < batch; b++)
        counts[k] += first_largest(layers.back().h + b * layers.back().width, widths.back()) == label[b];
    }
  }
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("stack_right", TORCH_BOX(&stack_right)); }
