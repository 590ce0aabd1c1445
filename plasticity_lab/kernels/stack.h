// Many steps of K classifiers side by side, each a stack of linear layers with an activation between them: images → layers →
// cross-entropy → gradients → optimizer. The arithmetic is that of the single operators and of the loops that torch.compile
// makes between them, in the same order: the same bits. But one run takes all steps of a call before the next run does, so that its
// parameters and moments stay in the cache meanwhile, in rows of the kernel's own (own_rows.h).
//
// Legend: K runs, S rows of the tables, B examples of a batch, R images of D pixels, C channels, L layers.
#pragma once

#include <memory>

#include "cross_entropy.h"
#include "linear_input.h"
#include "own_rows.h"
#include "philox.h"
#include "stack_forward.h"

namespace {

template <class Rule>
struct StackLayer {
  long batch, inputs, outputs, padded;  // padded: outputs as they are stored; those beyond `outputs` are 0
  Learned<Rule> weight, bias;           // of all runs
  const float *weight_start, *bias_start;  // of all runs, what a rule that holds pulls towards; null if it is 0
  OwnRows<Rule> own{inputs, padded};    // of the run that takes its steps
  Room h{batch * own.width};            // its output, later the gradient by it
  Room after{batch * outputs};          // the activation of it
  Room turned{room_to_turn(batch, inputs, own.width)};

  void take(long run) {
    own.take(weight.at(run * inputs * padded), bias.at(run * padded));
    if (weight_start) own.take_starts(weight_start + run * inputs * padded, bias_start + run * padded);
  }
  void give(long run) { own.give(weight.at(run * inputs * padded), bias.at(run * padded)); }
  Dense dense(const float* drawn) { return {inputs, outputs, own.width, own.weight(), own.bias(), h.begin, after.begin, drawn}; }
};

// What the steps read and write, for all runs and rows.
struct StackTables {
  long runs, batch;
  Shown shown;
  const int64_t *at, *labels;  // (S, K, B)
  const float *weights, *numbers;  // (S, B); (S, K, NUMBERS)
  float* losses;  // (S, K, B)
  bool* right;
  long function, settings_each;
  const float* settings;        // of the activation, (K, settings_each)
  const int64_t *key, *position;  // (K, 2) and (S), for its draws
  const float *pulls, *bounds;  // (K) and (L, K) for a rule that holds, or null
};

template <class Rule>
struct Stack {
  StackTables tables;
  std::vector<std::unique_ptr<StackLayer<Rule>>> layers;
  std::vector<Dense> dense;
  Room x{tables.batch * tables.shown.pixels};
  Sparse few;
  CrossEntropy loss;

  Stack(const StackTables& given, std::vector<std::unique_ptr<StackLayer<Rule>>> made)
      : tables(given), layers(std::move(made)), loss{given.batch, layers.back()->outputs} {
    long numbers = 0;
    for (const auto& layer : layers) numbers += layer == layers.back() ? 0 : tables.batch * layer->outputs;
    const bool draws = Activation{tables.function, nullptr}.draws();
    lanes = draws ? (numbers + 3) / 4 : 0;
    drawn.resize(4 * lanes);
    long at = 0;
    for (const auto& layer : layers) {
      dense.push_back(layer->dense(draws ? drawn.data() + at : nullptr));
      at += tables.batch * layer->outputs;
    }
  }

  // Row s of the tables for run k.
  void step(long s, long k) {
    const long batch = tables.batch, row = s * tables.runs + k;
    for (long b = 0; b < batch; b++) tables.shown.read(tables.at[row * batch + b], x.begin + b * tables.shown.pixels);
    const Activation activation{tables.function, tables.settings + k * tables.settings_each};
    if (lanes) uniforms(tables.key + 2 * k, tables.position[s], 4 * lanes, drawn.data());
    forward(batch, x.begin, dense, activation, few);
    loss.turn(layers.back()->h.begin, layers.back()->own.width, tables.labels + row * batch, tables.weights + s * batch,
              tables.losses + row * batch, tables.right + row * batch);
    for (size_t l = layers.size(); l-- > 0;) {
      StackLayer<Rule>& layer = *layers[l];
      OwnRows<Rule>& own = layer.own;
      if (l > 0) {
        by_input.resize(batch * own.inputs);
        gradient_by_input(batch, own.inputs, own.outputs, own.width, layer.h.begin, own.weight(), by_input.data(), layer.turned.begin);
      }
      own.step(batch, l > 0 ? layers[l - 1]->after.begin : x.begin, layer.h.begin, rule(row, l, k));
      if (l > 0) back(dense[l - 1], activation);
    }
  }

  // The rows of the tables from the first on, for all runs.
  void steps(long first, long count) {
    for (long k = 0; k < tables.runs; k++) {
      for (const auto& layer : layers) layer->take(k);
      for (long s = first; s < first + count; s++) step(s, k);
      for (const auto& layer : layers) layer->give(k);
    }
  }

 private:
  std::vector<float> by_input, drawn;
  long lanes;  // of the draws, four numbers each

  // The optimizer's step for a row of the tables.
  Rule rule(long row, long layer, long run) const {
    const float* numbers = tables.numbers + row * Rule::NUMBERS;
    if constexpr (Rule::HOLDS)
      return Rule(numbers, tables.pulls, tables.pulls ? tables.pulls[run] : 0, tables.bounds ? tables.bounds[layer * tables.runs + run] : INFINITY);
    else
      return Rule(numbers);
  }

  // The gradient by a layer's output from that by its activation, `by_input`.
  void back(const Dense& layer, const Activation& activation) const {
    for (long b = 0; b < tables.batch; b++) {
      float* h = layer.h + b * layer.width;
      const long at = b * layer.outputs;
      activation.back(layer.outputs, h, layer.drawn ? layer.drawn + at : nullptr, by_input.data() + at);
      std::fill(h + layer.outputs, h + layer.width, 0.0f);
    }
  }
};

// images (R, D) uint8; brightness (C, 256): the number that stands for each byte, in each channel; at, labels (S, K, B); weights (S, B);
// numbers (S, K, NUMBERS) of the optimizer; function, settings (K, any): see `Activation`; key (K, 2), position (S); widths: the outputs of each layer without padding;
// parameters: weight (K, I, O) and bias (K, 1, O) of each layer, then each moment of all of these; losses, right (S, K, B). For a rule
// that holds: pulls (K), or none (0); starts: like the weights and biases, or none if they are 0; bounds (L, K), or none.
// Takes the steps of `count` rows from the first on.
template <class Rule>
void stack_steps(const Tensor& images, const Tensor& brightness, const Tensor& at, const Tensor& labels, const Tensor& weights,
                 const Tensor& numbers, int64_t function, const Tensor& settings, const Tensor& key, const Tensor& position,
                 std::vector<int64_t> widths, std::vector<Tensor> parameters,
                 const Tensor& losses, const Tensor& right, const Tensor& pulls, std::vector<Tensor> starts, const Tensor& bounds,
                 int64_t first, int64_t count) {
  for (const Tensor* each : {&brightness, &weights, &numbers, &settings, &losses, &pulls, &bounds}) check(*each);
  for (const Tensor* each : {&images, &at, &labels, &right, &key, &position}) STD_TORCH_CHECK(each->is_contiguous(), "tables in one piece are needed");
  const long rows = at.size(0), runs = at.size(1), batch = at.size(2), depth = static_cast<long>(widths.size());
  STD_TORCH_CHECK(first >= 0 && count >= 0 && first + count <= rows, "the tables have no such rows");
  STD_TORCH_CHECK(static_cast<long>(parameters.size()) == 2 * depth * (1 + Rule::MOMENTS), "other parameters are needed");
  STD_TORCH_CHECK(batch > 1 && numbers.size(2) == Rule::NUMBERS, "batches of several examples and the optimizer's numbers are needed");
  STD_TORCH_CHECK(starts.empty() || static_cast<long>(starts.size()) == 2 * depth, "a start for each parameter is needed");
  for (const Tensor& each : starts) check(each);
  const auto given = [](const Tensor& x) { return x.numel() ? x.const_data_ptr<float>() : nullptr; };
  std::vector<std::unique_ptr<StackLayer<Rule>>> layers;
  for (long l = 0; l < depth; l++) {
    const auto start = [&](long part) { return starts.empty() ? nullptr : given(starts[2 * l + part]); };
    const auto learned = [&](long part) {
      Learned<Rule> found{changed(parameters[2 * l + part]), {}};
      for (int m = 0; m < Rule::MOMENTS; m++) found.moments[m] = changed(parameters[2 * (depth * (m + 1) + l) + part]);
      return found;
    };
    const Tensor& weight = parameters[2 * l];
    STD_TORCH_CHECK(weight.size(1) == (l ? widths[l - 1] : images.size(1)), "a layer takes what the layer before it makes");
    layers.emplace_back(new StackLayer<Rule>{batch, weight.size(1), widths[l], weight.size(2), learned(0), learned(1), start(0), start(1)});
  }
  const Shown shown{images.const_data_ptr<uint8_t>(), images.size(0), images.size(1), brightness.size(0),
                    Brightness(brightness.const_data_ptr<float>(), brightness.size(0))};
  const StackTables tables{runs, batch, shown, at.const_data_ptr<int64_t>(), labels.const_data_ptr<int64_t>(),
                           weights.const_data_ptr<float>(), numbers.const_data_ptr<float>(), losses.mutable_data_ptr<float>(),
                           right.mutable_data_ptr<bool>(), function, settings.size(1), settings.const_data_ptr<float>(),
                           key.const_data_ptr<int64_t>(), position.const_data_ptr<int64_t>(), given(pulls), given(bounds)};
  Stack<Rule>(tables, std::move(layers)).steps(first, count);
}

}  // namespace
