// K linear layers side by side on one core of a CPU: one step of an optimizer by the gradient of the weights, which is never laid
// out in memory whole. A Rule says what becomes of some parameters p by their gradients g, and by numbers of a run, which are data.
//
// Legend: K runs, B examples, I inputs, O outputs.
#pragma once

#include <cstring>

#include "filled.h"
#include "linear.h"
#include "room.h"
#include "tensors.h"

namespace {

// A step over some numbers that lie one after another, a vector at a time.
template <class Rule>
struct Update {
  Rule rule;
  const float* gradient = nullptr;
  float* parameter = nullptr;
  float* moments[Rule::MOMENTS] = {};
  long left = 0;

  template <class... Lanes>
  INLINE void take(Lanes... lanes) {
    Vector p = load(parameter, lanes...), m[Rule::MOMENTS];
    UNROLLED for (int i = 0; i < Rule::MOMENTS; i++) m[i] = load(moments[i], lanes...);
    rule.step(load(gradient, lanes...), p, m);
    store(parameter, p, lanes...);
    UNROLLED for (int i = 0; i < Rule::MOMENTS; i++) store(moments[i], m[i], lanes...);
  }
  INLINE void some() {
    if (left < LANES) return;
    take();
    gradient += LANES, parameter += LANES, left -= LANES;
    UNROLLED for (int i = 0; i < Rule::MOMENTS; i++) moments[i] += LANES;
  }
  INLINE void rest() {
    Update own = *this;  // stays in registers
    while (own.left >= LANES) own.some();
    if (own.left) own.take(static_cast<int>(own.left));
    left = 0;
  }
};

// A layer's weights or biases, and moments of it, all (K, ...).
template <class Rule>
struct Learned {
  float* parameter;
  float* moments[Rule::MOMENTS];

  float* part(int index) const { return index ? moments[index - 1] : parameter; }
  Learned at(long first) const {
    Learned found = *this;
    found.parameter += first;
    for (float*& each : found.moments) each += first;
    return found;
  }
};

float* changed(const Tensor& x) {
  check(x);
  return x.mutable_data_ptr<float>();
}

// The room that a step takes meanwhile, for layers of at most so many outputs.
struct RoomOfStep {
  Room halves, lined;  // gradients of rows; a run's delta with rows that begin on a vector's boundary
  Filled few;

  RoomOfStep(long batch, long outputs) : halves(2 * MANY * outputs), lined(batch * (outputs + LANES)) {}
};

// One step of an optimizer for one run by those gradients, in place, of which those of a few rows of the weights are held at a time.
// While the next rows' are multiplied, the rows before are updated: between products, or where most inputs are 0 between rows.
// numbers (NUMBERS).
template <class Rule>
void step_of_run(long batch, long inputs, long outputs, const float* xs, const float* delta, const float* numbers,
                 Learned<Rule> weight, Learned<Rule> bias, RoomOfStep& room) {
  const long padded = (outputs + LANES - 1) / LANES * LANES;
  float* d = room.lined.begin;
  for (long b = 0; b < batch; b++) std::memcpy(d + b * padded, delta + b * outputs, outputs * sizeof(float));
  Update<Rule> update{Rule(numbers)};
  const auto begin = [&](const Learned<Rule>& of, long from, const float* gradient, long count) {
    update.gradient = gradient, update.left = count, update.parameter = of.parameter + from;
    for (int i = 0; i < Rule::MOMENTS; i++) update.moments[i] = of.moments[i] + from;
  };
  const bool are_few = filled(xs, batch, inputs, room.few);
  const long at_once = are_few ? MANY : ROWS;
  float *half = room.halves.begin, *other = half + at_once * outputs;
  for (long i = 0; i < inputs; i += at_once) {
    const long rows = std::min(at_once, inputs - i);
    const Product own{{xs + i, 1, inputs}, d, padded, {batch}, nullptr, 0, half, outputs};
    if (are_few) {
      filled_product<PANEL>(room.few, i, rows, outputs, own, update);
    } else {
      product<ROWS, NARROW>(rows, outputs, own, update);
    }
    update.rest();
    begin(weight, i * outputs, half, rows * outputs);
    std::swap(half, other);
  }
  sum_rows(batch, outputs, d, padded, half);
  update.rest();
  begin(bias, 0, half, outputs);
  update.rest();
}

// The same for K runs. numbers (K, NUMBERS).
template <class Rule>
void linear_update(const Tensor& x_given, const Tensor& delta_given, const Tensor& numbers, Learned<Rule> weight,
                   Learned<Rule> bias) {
  const Tensor x = in_one_piece(x_given), delta = in_one_piece(delta_given);
  check(x), check(delta), check(numbers);
  const long runs = x.size(0), batch = x.size(1), inputs = x.size(2), outputs = delta.size(2);
  RoomOfStep room(batch, outputs);
  for (long k = 0; k < runs; k++)
    step_of_run<Rule>(batch, inputs, outputs, x.const_data_ptr<float>() + k * batch * inputs,
                      delta.const_data_ptr<float>() + k * batch * outputs, numbers.const_data_ptr<float>() + Rule::NUMBERS * k,
                      weight.at(k * inputs * outputs), bias.at(k * outputs), room);
}

}  // namespace
