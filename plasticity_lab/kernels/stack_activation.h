// Activations of a stack of layers, and the gradients by their inputs: the operations of activations/*.py as compiled code has them, in
// the same order. Each is a class with
//   value(x, u)     of some numbers x; u: uniform numbers, if it draws some;
//   back(by, x, u)  the gradient by x from that by the value.
#pragma once

#include <cmath>

#include "composed.h"

namespace {

struct Relu {
  INLINE Vector value(Vector x, Vector) const { return x < all(0) ? all(0) : x; }
  INLINE Vector back(Vector by, Vector x, Vector) const { return x <= all(0) ? all(0) : by; }
};

// A slope for all numbers, or for each number another one between two.
struct Slope {
  float low, range;
  bool drawn;

  INLINE Vector at(Vector u) const { return drawn ? all(low) + all(range) * u : all(low); }
};

struct Leaky {
  Slope slope;

  INLINE Vector factor(Vector x, Vector u) const { return x > all(0) ? all(1) : slope.at(u); }
  INLINE Vector value(Vector x, Vector u) const { return x * factor(x, u); }
  INLINE Vector back(Vector by, Vector x, Vector u) const { return by * factor(x, u); }
};

// x above 0, α (e^(x / width) − 1) elsewhere, all of it times a scale. ELU and SELU divide by nothing.
template <bool DIVIDES>
struct Elu {
  Slope alpha;
  float scale;
  bool scales;

  // What becomes of e: x where it is at most 0.
  INLINE Vector negative(Vector x, Vector alphas) const {
    const Vector below = x >= all(0x1p-126f) ? all(-0.0f) : x;
    return DIVIDES ? below / alphas : below;
  }
  INLINE Vector value(Vector x, Vector u) const {
    const Vector alphas = alpha.at(u), found = Relu().value(x, u) + alphas * composed_expm1(negative(x, alphas));
    return scales ? all(scale) * found : found;
  }
  INLINE Vector back(Vector by, Vector x, Vector u) const {
    const Vector alphas = alpha.at(u), own = scales ? by * all(scale) : by;
    const Vector slope = own * alphas * composed_exp(negative(x, alphas)), below = DIVIDES ? slope / alphas : slope;
    return Relu().back(own, x, u) + ((x < all(0x1p-126f)) & (x > all(-INFINITY)) ? below : all(0));
  }
};

struct Sigmoid {
  INLINE Vector power(Vector x) const { return composed_exp_to_88(-(x <= all(-88) ? all(-88) : x)); }
  INLINE Vector value(Vector x, Vector) const { return all(1) / (power(x) + all(1)); }
  INLINE Vector back(Vector by, Vector x, Vector u) const {
    const Vector own = value(x, u), found = power(x);
    return (x > all(-88)) & (found < all(INFINITY)) ? by * (own * own) * found : all(0);
  }
};

struct Tanh {
  INLINE Vector value(Vector x, Vector) const { return composed_tanh(x); }
  INLINE Vector back(Vector by, Vector x, Vector) const {
    const Vector own = composed_tanh(x);
    return absolute(x) < all(INFINITY) ? by * (all(1) - own * own) : all(0);
  }
};

struct Swish {
  float beta;

  INLINE Vector value(Vector x, Vector u) const { return x * Sigmoid().value(all(beta) * x, u); }
  INLINE Vector back(Vector by, Vector x, Vector u) const {
    const Vector inner = all(beta) * x;
    return by * Sigmoid().value(inner, u) + Sigmoid().back(by * x, inner, u) * all(beta);
  }
};

struct SmoothLeaky {
  float steepness;
  Slope slope;

  INLINE Vector value(Vector x, Vector u) const { return x * factor(x, slope.at(u), u); }
  INLINE Vector back(Vector by, Vector x, Vector u) const {
    const Vector slopes = slope.at(u);
    return by * factor(x, slopes, u) + Sigmoid().back(by * x * (all(1) - slopes), all(steepness) * x, u) * all(steepness);
  }

 private:
  INLINE Vector factor(Vector x, Vector slopes, Vector u) const {
    return slopes + (all(1) - slopes) * Sigmoid().value(all(steepness) * x, u);
  }
};

struct Gelu {
  float beta;

  INLINE Vector value(Vector x, Vector) const {
    const Vector at = all(beta) * x;
    return at * below(at);
  }
  INLINE Vector back(Vector by, Vector x, Vector) const {
    const Vector at = all(beta) * x, density = composed_exp(all(-0.5f) * at * at) * all(0.39894228040143268f);
    return (absolute(at) < all(INFINITY) ? by * (below(at) + at * density) : all(0)) * all(beta);
  }

 private:
  INLINE static Vector below(Vector at) { return all(0.5f) * (all(1) + composed_erf(at * all(0.70710678118654752f))); }
};

// In the order of `FUNCTIONS` in agents/supervised/stack_activation.py.
enum Function { RELU, LEAKY_RELU, RRELU, ELU, CELU, SELU, RANDOMIZED_SELU, SIGMOID, TANH, SWISH, SMOOTH_LEAKY, RANDOMIZED_SMOOTH_LEAKY, GELU };

// An activation, and the settings of one run, as they are named there.
struct Activation {
  long function;
  const float* settings;

  // Whether it takes a uniform number for each number.
  bool draws() const { return function == RRELU || function == RANDOMIZED_SELU || function == RANDOMIZED_SMOOTH_LEAKY; }

  // Calls `act` with the activation. evaluated: with the mean instead of a draw.
  template <class Act>
  void with(bool evaluated, const Act& act) const {
    const float* s = settings;
    const auto between = [&](float low, float high) {
      const float range = high - low;
      return evaluated ? Slope{low + range * 0.5f, 0, false} : Slope{low, range, true};
    };
    constexpr float LAMBDA = 1.0507009873554804934193349852946f;
    switch (function) {
      case RELU: return act(Relu{});
      case LEAKY_RELU: return act(Leaky{{s[0], 0, false}});
      case RRELU: return act(Leaky{between(s[0], s[1])});
      case ELU: return act(Elu<false>{{s[0], 0, false}, 1, false});
      case CELU: return act(Elu<true>{{s[0], 0, false}, 1, false});
      case SELU: return act(Elu<false>{{s[0], 0, false}, LAMBDA, true});
      case RANDOMIZED_SELU: return act(Elu<false>{between(s[0], s[1]), LAMBDA, true});
      case SIGMOID: return act(Sigmoid{});
      case TANH: return act(Tanh{});
      case SWISH: return act(Swish{s[0]});
      case SMOOTH_LEAKY: return act(SmoothLeaky{s[0], {s[1], 0, false}});
      case RANDOMIZED_SMOOTH_LEAKY: return act(SmoothLeaky{s[0], between(s[1], s[2])});
      case GELU: return act(Gelu{s[0]});
    }
  }

  // x → to, `count` numbers; u: as many uniform numbers, or null.
  void value(long count, const float* x, const float* u, float* to) const {
    with(u == nullptr, [&](const auto& own) {
      each_vector(count, [&](long i, auto... lanes) {
        store(to + i, own.value(load(x + i, lanes...), u ? load(u + i, lanes...) : all(0)), lanes...);
      });
    });
  }
  // x becomes the gradient by it; by: the gradient by its value.
  void back(long count, float* x, const float* u, const float* by) const {
    with(false, [&](const auto& own) {
      each_vector(count, [&](long i, auto... lanes) {
        store(x + i, own.back(load(by + i, lanes...), load(x + i, lanes...), u ? load(u + i, lanes...) : all(0)), lanes...);
      });
    });
  }

 private:
  template <class Each>
  static void each_vector(long count, const Each& each) {
    long i = 0;
    for (; i + LANES <= count; i += LANES) each(i);
    if (i < count) each(i, static_cast<int>(count - i));
  }
};

}  // namespace
