// A layer of one run while that takes many steps: its weights, biases and moments in rows of whole vectors, each of which begins on
// a vector's boundary. The gradient of a row stays in registers until the optimizer has made its step with it. The numbers are those
// of linear_step.h.
//
// Legend: B examples, I inputs, O outputs with their padding, W numbers of a row: O, and 0 up to a whole vector.
#pragma once

#include <cstring>

#include "linear_step.h"

namespace {

#if defined(__AVX512F__)
constexpr int ACROSS = 8;  // vectors of two rows that fit into registers with what they are made from
#else
constexpr int ACROSS = 4;
#endif

template <class Rule>
class OwnRows {
 public:
  const long inputs, outputs, width;

  OwnRows(long inputs, long outputs)
      : inputs(inputs), outputs(outputs), width((outputs + LANES - 1) / LANES * LANES), rests(inputs) {
    for (int part = 0; part <= Rule::MOMENTS + Rule::HOLDS; part++) rooms.emplace_back((inputs + 1) * width);
  }

  const float* weight() const { return rooms[0].begin; }
  const float* bias() const { return rooms[0].begin + inputs * width; }

  // Copies what a run has learned, and gives it back.
  void take(const Learned<Rule>& weights, const Learned<Rule>& biases) {
    each_row(weights, biases, [&](float* there, float* here) {
      std::memcpy(here, there, outputs * sizeof(float));
      std::fill(here + outputs, here + width, 0.0f);  // no trace of a run that diverged
    });
    for (long i = 0; i < inputs; i++) {
      bool any = false;
      for (int part = 1; part <= Rule::MOMENTS; part++)
        for (long w = 0; w < outputs; w++) any = any || rooms[part].begin[i * width + w] != 0;
      rests[i] = !any;
    }
  }
  void give(const Learned<Rule>& weights, const Learned<Rule>& biases) {
    each_row(weights, biases, [&](float* there, float* here) { std::memcpy(there, here, outputs * sizeof(float)); });
  }

  // Copies the numbers (I, O) and (O) that a rule which holds pulls towards. Without it they are 0.
  void take_starts(const float* weights, const float* biases) {
    float* to = rooms.back().begin;
    for (long i = 0; i < inputs; i++) std::memcpy(to + i * width, weights + i * outputs, outputs * sizeof(float));
    std::memcpy(to + inputs * width, biases, outputs * sizeof(float));
  }

  // One step by x (B, I) and the gradients by the outputs, delta (B, W).
  void step(long batch, const float* x, const float* delta, const Rule& rule) {
    const Rows all_rows = rows();  // a copy of its own can stay in registers
    const bool are_few = filled(x, batch, inputs, met), leaves = rule.leaves();
    for (long i = 0; i < inputs; i++) rests[i] = rests[i] && are_few && !met.any(i);
    by_vectors<ACROSS>(width, {{x, 1, inputs}, delta, width, {batch}, nullptr, 0, nullptr, 0}, [&]<int V, bool PART>(Product p, int) {
      const long column = p.b - delta;
      if (are_few) {
        for (long i = 0; i < inputs; i++) {
          if (rests[i] && leaves) continue;
          Vector sums[1][V] = {};
          add_filled<V, false>(met, i, p.row(i), 0, sums[0]);
          update(rule, all_rows.at(i * width + column), sums);
        }
      } else {
        for (long i = 0; i + 1 < inputs; i += 2) dense<2, V>(rule, p, i, all_rows.at(i * width + column));
        if (inputs % 2) dense<1, V>(rule, p, inputs - 1, all_rows.at((inputs - 1) * width + column));
      }
      Vector sums[1][V] = {};
      for (long b = 0; b < batch; b++)
        UNROLLED for (int z = 0; z < V; z++) sums[0][z] = fused(all(1), load(p.b + b * width + LANES * z), sums[0][z]);
      update(rule, all_rows.at(inputs * width + column), sums);
    });
  }

 private:
  // Places in each of `rooms`.
  struct Rows {
    float* part[1 + Rule::MOMENTS + Rule::HOLDS];

    Rows at(long first) const {
      Rows found = *this;
      for (float*& each : found.part) each += first;
      return found;
    }
  };

  std::vector<Room> rooms;  // weights and, as the last row, biases; then each moment of them; then what a rule pulls towards
  std::vector<char> rests;  // rows whose moments are 0: a step without a gradient leaves them as they are
  Filled met;

  Rows rows() {
    Rows found;
    for (size_t part = 0; part < rooms.size(); part++) found.part[part] = rooms[part].begin;
    return found;
  }
  template <class Each>
  void each_row(const Learned<Rule>& weights, const Learned<Rule>& biases, const Each& each) {
    for (int part = 0; part <= Rule::MOMENTS; part++) {
      for (long i = 0; i < inputs; i++) each(weights.part(part) + i * outputs, rooms[part].begin + i * width);
      each(biases.part(part), rooms[part].begin + inputs * width);
    }
  }

  // R rows from the i-th on, of whose sums all products are taken.
  template <int R, int V>
  INLINE void dense(const Rule& rule, const Product& p, long i, Rows own) {
    Vector sums[R][V] = {};
    for (long b = 0; b < p.depth.each; b++) {
      Vector d[V];
      UNROLLED for (int z = 0; z < V; z++) d[z] = load(p.b + b * width + LANES * z);
      UNROLLED for (int r = 0; r < R; r++) {
        const Vector x = all(p.a.at[b * p.a.column + i + r]);
        UNROLLED for (int z = 0; z < V; z++) sums[r][z] = fused(x, d[z], sums[r][z]);
      }
    }
    update(rule, own, sums);
  }

  // The optimizer's step for some vectors of R rows, by their gradients.
  template <int R, int V>
  INLINE void update(const Rule& rule, Rows own, const Vector (&gradients)[R][V]) {
    UNROLLED for (int r = 0; r < R; r++) {
      UNROLLED for (int z = 0; z < V; z++) {
        const long at = r * width + LANES * z;
        Vector p = load(own.part[0] + at), m[Rule::MOMENTS];
        UNROLLED for (int k = 0; k < Rule::MOMENTS; k++) m[k] = load(own.part[1 + k] + at);
        if constexpr (Rule::HOLDS) rule.step(gradients[r][z], p, m, load(own.part[1 + Rule::MOMENTS] + at));
        else rule.step(gradients[r][z], p, m);
        store(own.part[0] + at, p);
        UNROLLED for (int k = 0; k < Rule::MOMENTS; k++) store(own.part[1 + k] + at, m[k]);
      }
    }
  }
};

}  // namespace
