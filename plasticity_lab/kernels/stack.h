// Many steps of K classifiers side by side, each a stack of linear layers with a piecewise linear activation between them: images →
// layers → cross-entropy → gradients → optimizer. The arithmetic is that of the single operators and of the loops that torch.compile
// makes between them, in the same order: the same bits. But one run takes several steps before the next run does, so that its
// parameters and moments stay in the cache meanwhile.
//
// Legend: K runs, S rows of the tables, B examples of a batch, R images of D pixels, C channels, L layers.
#pragma once

#include <memory>

#include "brightness.h"
#include "cross_entropy.h"
#include "linear_input.h"
#include "linear_step.h"

namespace {

constexpr long TOGETHER = 16;  // steps of one run, before the next run takes its own

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

template <class Rule>
struct StackLayer {
  long batch, inputs, outputs, padded;  // padded: outputs as they are stored; those beyond `outputs` are 0
  Learned<Rule> weight, bias;           // of all runs
  Room h{batch * padded};               // its output, later the gradient by it
  Room after{batch * outputs};          // the activation of it
  Room turned{room_to_turn(batch, inputs, padded)};
};

// What the steps read and write, for all runs and rows.
struct StackTables {
  long runs, batch, images, pixels, channels;
  const uint8_t* image;     // (R, D)
  const int64_t *at, *labels;  // (S, K, B)
  const float *weights, *numbers;  // (S, B); (S, K, NUMBERS)
  float* losses;  // (S, K, B)
  bool* right;
};

template <class Rule>
struct Stack {
  StackTables tables;
  Brightness brightness;
  std::vector<std::unique_ptr<StackLayer<Rule>>> layers;
  long widest = 0;
  Room x{tables.batch * tables.pixels};
  Sparse few;
  CrossEntropy loss;

  Stack(const StackTables& given, const Brightness& by, std::vector<std::unique_ptr<StackLayer<Rule>>> made)
      : tables(given), brightness(by), layers(std::move(made)), loss{given.batch, layers.back()->outputs} {
    for (const auto& layer : layers) widest = std::max(widest, layer->padded);
  }

  // The batch's pixels as numbers.
  void read(const int64_t* at) {
    const long each = tables.pixels / tables.channels;
    for (long b = 0; b < tables.batch; b++) {
      STD_TORCH_CHECK(at[b] >= 0 && at[b] < tables.images, "a batch names an image that is not there");
      for (long c = 0; c < tables.channels; c++)
        brightness.read(c, each, tables.image + at[b] * tables.pixels + c * each, x.begin + b * tables.pixels + c * each);
    }
  }

  // Row s of the tables for run k.
  void step(long s, long k, const Bent& activation, RoomOfStep& room) {
    const long batch = tables.batch, row = s * tables.runs + k;
    read(tables.at + row * batch);
    const float* input = x.begin;
    for (const auto& layer : layers) {
      const long size = layer->inputs * layer->padded;
      const bool are_few = sparse(input, batch, layer->inputs, few);
      linear_product(batch, layer->inputs, layer->padded, input, are_few ? &few : nullptr, layer->weight.at(k * size).parameter,
                     layer->bias.at(k * layer->padded).parameter, layer->h.begin);
      if (layer == layers.back()) break;
      for (long b = 0; b < batch; b++)
        activation.of(layer->outputs, layer->h.begin + b * layer->padded, layer->after.begin + b * layer->outputs);
      input = layer->after.begin;
    }
    loss.turn(layers.back()->h.begin, layers.back()->padded, tables.labels + row * batch, tables.weights + s * batch,
              tables.losses + row * batch, tables.right + row * batch);
    for (size_t l = layers.size(); l-- > 0;) {
      StackLayer<Rule>& layer = *layers[l];
      const Learned<Rule> weight = layer.weight.at(k * layer.inputs * layer.padded), bias = layer.bias.at(k * layer.padded);
      if (l > 0) {
        by_input.resize(batch * layer.inputs);
        gradient_by_input(batch, layer.inputs, layer.padded, layer.h.begin, weight.parameter, by_input.data(), layer.turned.begin);
      }
      step_of_run<Rule>(batch, layer.inputs, layer.padded, l > 0 ? layers[l - 1]->after.begin : x.begin, layer.h.begin,
                        tables.numbers + row * Rule::NUMBERS, weight, bias, room);
      if (l > 0) back(*layers[l - 1], activation);
    }
  }

  // The rows of the tables from the first on, for all runs. slopes (K), or null for ReLU.
  void steps(long first, long count, const float* slopes) {
    RoomOfStep room(tables.batch, widest);
    for (long begin = first; begin < first + count; begin += TOGETHER)
      for (long k = 0; k < tables.runs; k++)
        for (long s = begin; s < std::min(begin + TOGETHER, first + count); s++)
          step(s, k, {slopes == nullptr, slopes ? slopes[k] : 0}, room);
  }

 private:
  std::vector<float> by_input;

  // The gradient by a layer's output from that by its activation, `by_input`.
  void back(StackLayer<Rule>& layer, const Bent& activation) {
    for (long b = 0; b < tables.batch; b++) {
      float* h = layer.h.begin + b * layer.padded;
      activation.back(layer.outputs, h, by_input.data() + b * layer.outputs);
      std::fill(h + layer.outputs, h + layer.padded, 0.0f);
    }
  }
};

// images (R, D) uint8; brightness (C, 256): the number that stands for each byte, in each channel; at, labels (S, K, B); weights (S, B);
// numbers (S, K, NUMBERS) of the optimizer; slopes (K) below 0, of ReLU none (0); widths: the outputs of each layer without padding;
// parameters: weight (K, I, O) and bias (K, 1, O) of each layer, then each moment of all of these; losses, right (S, K, B).
// Takes the steps of `count` rows from the first on.
template <class Rule>
void stack_steps(const Tensor& images, const Tensor& brightness, const Tensor& at, const Tensor& labels, const Tensor& weights,
                 const Tensor& numbers, const Tensor& slopes, std::vector<int64_t> widths, std::vector<Tensor> parameters,
                 const Tensor& losses, const Tensor& right, int64_t first, int64_t count) {
  for (const Tensor* each : {&brightness, &weights, &numbers, &slopes, &losses}) check(*each);
  for (const Tensor* each : {&images, &at, &labels, &right}) STD_TORCH_CHECK(each->is_contiguous(), "tables in one piece are needed");
  const long rows = at.size(0), runs = at.size(1), batch = at.size(2), depth = static_cast<long>(widths.size());
  STD_TORCH_CHECK(first >= 0 && count >= 0 && first + count <= rows, "the tables have no such rows");
  STD_TORCH_CHECK(static_cast<long>(parameters.size()) == 2 * depth * (1 + Rule::MOMENTS), "other parameters are needed");
  STD_TORCH_CHECK(batch > 1 && numbers.size(2) == Rule::NUMBERS, "batches of several examples and the optimizer's numbers are needed");
  std::vector<std::unique_ptr<StackLayer<Rule>>> layers;
  for (long l = 0; l < depth; l++) {
    const auto learned = [&](long part) {
      Learned<Rule> found{changed(parameters[2 * l + part]), {}};
      for (int m = 0; m < Rule::MOMENTS; m++) found.moments[m] = changed(parameters[2 * (depth * (m + 1) + l) + part]);
      return found;
    };
    const Tensor& weight = parameters[2 * l];
    STD_TORCH_CHECK(weight.size(1) == (l ? widths[l - 1] : images.size(1)), "a layer takes what the layer before it makes");
    layers.emplace_back(new StackLayer<Rule>{batch, weight.size(1), widths[l], weight.size(2), learned(0), learned(1)});
  }
  const StackTables tables{runs, batch, images.size(0), images.size(1), brightness.size(0), images.const_data_ptr<uint8_t>(),
                           at.const_data_ptr<int64_t>(), labels.const_data_ptr<int64_t>(),
                           weights.const_data_ptr<float>(), numbers.const_data_ptr<float>(), losses.mutable_data_ptr<float>(),
                           right.mutable_data_ptr<bool>()};
  Stack<Rule>(tables, Brightness(brightness.const_data_ptr<float>(), brightness.size(0)), std::move(layers)).steps(first, count, slopes.size(0) ? slopes.const_data_ptr<float>() : nullptr);
}

}  // namespace
