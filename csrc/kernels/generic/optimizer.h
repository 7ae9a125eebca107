// Every element is rounded the same way wherever it lies, so that a cut between threads changes nothing: no
// fused products, and the rest of a tensor goes through whole vectors too.
#pragma once

#include <cstring>

#include "kernels/generic/formats.h"
#include "kernels/optimizer.h"

namespace ostinato {
namespace {
namespace optimizers {

using formats::Doubles;
template <typename T>
using Pack = formats::Numbers<T>;
template <typename T>
constexpr int64_t kPack = sizeof(Pack<T>) / sizeof(T);

template <typename T>
inline Pack<T> all(double x) {
  return static_cast<T>(x) - Pack<T>{};
}

template <typename T>
struct Numbers {
  // What the loop asks of every vector, as bytes: cheaper than to compare the numbers there.
  bool scales, clears, writes, decays, nesterov, first, near;
  Pack<T> unscale, sign, weight_decay, shrink, rate, decay1, gain1, decay2, gain2, root, epsilon;

  explicit Numbers(const UpdateNumbers& n)
      : scales(n.unscale != 1.0),
        clears(n.clear),
        writes(n.unscale != 1.0 || n.clear),
        decays(n.weight_decay != 0.0),
        nesterov(n.nesterov),
        first(n.first),
        near(n.gain1 < 0.5),
        unscale(all<T>(n.unscale)),
        sign(all<T>(n.sign)),
        weight_decay(all<T>(n.weight_decay)),
        shrink(all<T>(n.shrink)),
        rate(all<T>(n.rate)),
        decay1(all<T>(n.decay1)),
        gain1(all<T>(n.gain1)),
        decay2(all<T>(n.decay2)),
        gain2(all<T>(n.gain2)),
        root(all<T>(n.root)),
        epsilon(all<T>(n.epsilon)) {}
};

template <typename T, bool Momentum>
struct Sgd {
  static constexpr int kStates = Momentum ? 1 : 0;

  static void apply(const Numbers<T>& c, Pack<T>& p, Pack<T> g, Pack<T>* state) {
    if constexpr (Momentum) {
      state[0] = c.first ? g : state[0] * c.decay1 + g * c.gain1;
      g = c.nesterov ? g + state[0] * c.decay1 : state[0];
    }
    p -= g * c.rate;
  }
};

template <typename T, bool Largest>
struct Adam {
  static constexpr int kStates = Largest ? 3 : 2;

  static void apply(const Numbers<T>& c, Pack<T>& p, Pack<T> g, Pack<T>* state) {
    const Pack<T> far = g - state[0];
    // From the nearer end, so that a share of all or nothing is exact.
    state[0] = c.near ? state[0] + far * c.gain1 : g - far * c.decay1;
    state[1] = state[1] * c.decay2 + g * g * c.gain2;
    Pack<T> second = state[1];
    if constexpr (Largest) {
      const Pack<T> largest = state[2];
      second = (largest > second) | (largest != largest) ? largest : second;  // a NaN of either stays
      state[2] = second;
    }
    p = p * c.shrink;
    p -= state[0] / (root(second) * c.root + c.epsilon) * c.rate;
  }
};

template <typename T>
struct Adagrad {
  static constexpr int kStates = 1;

  static void apply(const Numbers<T>& c, Pack<T>& p, Pack<T> g, Pack<T>* state) {
    state[0] += g * g;
    p -= g / (root(state[0]) + c.epsilon) * c.rate;
  }
};

// The tensors of a call: parameter, gradient, states.
template <typename Element>
struct Runs {
  Element* at[2 + kUpdateStates];
};

// As many elements as a format reads at a time.
template <typename Format>
constexpr int64_t kGroup = Format::kVectors * kPack<typename Format::Number>;

template <typename Format, typename Rule>
inline void one_group(const Numbers<typename Format::Number>& c, const Runs<typename Format::Element>& runs,
                      int64_t i) {
  using Number = typename Format::Number;
  constexpr int kVectors = Format::kVectors;
  Pack<Number> v[2 + Rule::kStates][kVectors];
  for (int k = 0; k < 2 + Rule::kStates; ++k) Format::load(runs.at[k] + i, v[k]);
  for (int j = 0; j < kVectors; ++j) {
    if (c.scales) v[1][j] *= c.unscale;
    Pack<Number> g = v[1][j] * c.sign;
    if (c.decays) g += v[0][j] * c.weight_decay;
    Pack<Number> state[kUpdateStates];
    for (int k = 0; k < Rule::kStates; ++k) state[k] = v[2 + k][j];
    Rule::apply(c, v[0][j], g, state);
    for (int k = 0; k < Rule::kStates; ++k) v[2 + k][j] = state[k];
    if (c.clears) v[1][j] = Pack<Number>{};
  }
  for (int k = 0; k < 2 + Rule::kStates; ++k) {
    if (k != 1 || c.writes) Format::store(runs.at[k] + i, v[k]);
  }
}

// Fewer elements than a group has.
template <typename Format, typename Rule>
void rest(const Numbers<typename Format::Number>& c, const Runs<typename Format::Element>& runs, int64_t i,
          int64_t count) {
  using Element = typename Format::Element;
  Element room[2 + kUpdateStates][kGroup<Format>] = {};
  Runs<Element> within{};
  const size_t bytes = static_cast<size_t>(count) * sizeof(Element);
  for (int k = 0; k < 2 + Rule::kStates; ++k) {
    std::memcpy(room[k], runs.at[k] + i, bytes);
    within.at[k] = room[k];
  }
  one_group<Format, Rule>(c, within, 0);
  for (int k = 0; k < 2 + Rule::kStates; ++k) {
    if (k != 1 || c.writes) std::memcpy(runs.at[k] + i, room[k], bytes);
  }
}

template <typename Format, typename Rule>
void over(const UpdateArgs& args) {
  using Element = typename Format::Element;
  constexpr int64_t kStep = kGroup<Format>;
  Runs<Element> runs{{static_cast<Element*>(args.param), static_cast<Element*>(args.grad)}};
  for (int s = 0; s < kUpdateStates; ++s) runs.at[2 + s] = static_cast<Element*>(args.states[s]);
  const int64_t count = args.count;  // a copy, for a store might change what `args` refers to
  const Numbers<typename Format::Number> c(*args.numbers);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) one_group<Format, Rule>(c, runs, i);
  if (i < count) rest<Format, Rule>(c, runs, i, count - i);
}

template <template <typename> class Rule>
void by_element(const UpdateArgs& args) {
  switch (args.element) {
    case UpdateElement::kFloat:
      return over<formats::Whole<float>, Rule<float>>(args);
    case UpdateElement::kDouble:
      return over<formats::Whole<double>, Rule<double>>(args);
    case UpdateElement::kBfloat16:
      return over<formats::Bfloat16, Rule<float>>(args);
    case UpdateElement::kHalf:
      return over<formats::Half, Rule<float>>(args);
  }
}

template <typename T>
using PlainSgd = Sgd<T, false>;
template <typename T>
using MomentumSgd = Sgd<T, true>;
template <typename T>
using PlainAdam = Adam<T, false>;
template <typename T>
using LargestAdam = Adam<T, true>;

void update(const UpdateArgs& args) {
  switch (args.rule) {
    case UpdateRule::kSgd:
      return args.states[0] == nullptr ? by_element<PlainSgd>(args) : by_element<MomentumSgd>(args);
    case UpdateRule::kAdam:
      return args.states[2] == nullptr ? by_element<PlainAdam>(args) : by_element<LargestAdam>(args);
    case UpdateRule::kAdagrad:
      return by_element<Adagrad>(args);
  }
}

}  // namespace optimizers
}  // namespace
}  // namespace ostinato
