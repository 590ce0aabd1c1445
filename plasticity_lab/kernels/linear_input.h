// The gradient by the input of one linear layer of one run; see linear.h.
#pragma once

#include "linear.h"

namespace {

inline bool turns_weights(long batch, long inputs, long outputs) { return inputs * outputs < batch * (inputs + outputs); }

// How many numbers `gradient_by_input` takes meanwhile.
inline long room_to_turn(long batch, long inputs, long outputs) {
  return turns_weights(batch, inputs, outputs) ? inputs * outputs : batch * (inputs + outputs);
}

// The gradient by x (B, I) from that by h, delta (B, of which O of W are there): delta · weightᵀ, weight (I, likewise). What is smaller
// is turned: the weights, or delta and the answer, with examples as a vector's lanes. Both take a sum in the same order.
inline void gradient_by_input(long batch, long inputs, long outputs, long width, const float* delta, const float* weight,
                              float* gradient, float* room) {
  Nothing nothing;
  if (turns_weights(batch, inputs, width)) {
    turn(inputs, width, weight, room);
    product<ROWS, WIDE>(batch, inputs, {{delta, width, 1}, room, inputs, {outputs}, nullptr, 0, gradient, inputs}, nothing);
  } else {
    float* answer = room + batch * width;
    turn(batch, width, delta, room);
    product<ROWS, WIDE>(inputs, batch, {{weight, width, 1}, room, batch, {outputs}, nullptr, 0, answer, batch}, nothing);
    turn(inputs, batch, answer, gradient);
  }
}

}  // namespace
