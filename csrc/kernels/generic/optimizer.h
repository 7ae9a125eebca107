// Every element is rounded the same way wherever it lies, so that a cut between threads changes nothing: no
// fused products, and the rest of a tensor goes through a whole vector too.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/generic/chain_move.h"
#include "kernels/generic/rounding.h"
#include "kernels/optimizer.h"

namespace ostinato {
namespace {
namespace optimizers {

using Doubles = double __attribute__((vector_size(kVectorFloats * sizeof(float))));
template <typename T>
using Pack = std::conditional_t<std::is_same_v<T, float>, Vector, Doubles>;
template <typename T>
constexpr int64_t kPack = sizeof(Pack<T>) / sizeof(T);

template <typename T>
inline Pack<T> all(double x) {
  return static_cast<T>(x) - Pack<T>{};
}

inline Vector root_of(Vector x) { return square_root(x); }
inline Doubles root_of(Doubles x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_pd(0xff, x);
#elif defined(__AVX2__)
  return _mm256_sqrt_pd(x);
#else
  for (int l = 0; l < kPack<double>; ++l) x[l] = __builtin_sqrt(x[l]);
  return x;
#endif
}

template <typename T>
struct Numbers {
  Pack<T> sign, weight_decay, shrink, rate, decay1, gain1, decay2, gain2, root, epsilon;

  explicit Numbers(const UpdateNumbers& n)
      : sign(all<T>(n.sign)),
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

  static void apply(const UpdateNumbers& n, const Numbers<T>& c, Pack<T>& p, Pack<T> g, Pack<T>* state) {
    if constexpr (Momentum) {
      state[0] = n.first ? g : state[0] * c.decay1 + g * c.gain1;
      g = n.nesterov ? g + state[0] * c.decay1 : state[0];
    }
    p -= g * c.rate;
  }
};

template <typename T, bool Largest>
struct Adam {
  static constexpr int kStates = Largest ? 3 : 2;

  static void apply(const UpdateNumbers& n, const Numbers<T>& c, Pack<T>& p, Pack<T> g, Pack<T>* state) {
    const Pack<T> far = g - state[0];
    // From the nearer end, so that a share of all or nothing is exact.
    state[0] = n.gain1 < 0.5 ? state[0] + far * c.gain1 : g - far * c.decay1;
    state[1] = state[1] * c.decay2 + g * g * c.gain2;
    Pack<T> second = state[1];
    if constexpr (Largest) {
      const Pack<T> largest = state[2];
      second = (largest > second) | (largest != largest) ? largest : second;  // a NaN of either stays
      state[2] = second;
    }
    p = p * c.shrink;
    p -= state[0] / (root_of(second) * c.root + c.epsilon) * c.rate;
  }
};

template <typename T>
struct Adagrad {
  static constexpr int kStates = 1;

  static void apply(const UpdateNumbers&, const Numbers<T>& c, Pack<T>& p, Pack<T> g, Pack<T>* state) {
    state[0] += g * g;
    p -= g / (root_of(state[0]) + c.epsilon) * c.rate;
  }
};

// The tensors of a call as runs of T: parameter, gradient, states.
template <typename T>
struct Runs {
  T* at[2 + kUpdateStates];
};

template <typename T, typename Rule>
inline void one_pack(const UpdateNumbers& n, const Numbers<T>& c, const Runs<T>& runs, int64_t i,
                     size_t bytes) {
  Pack<T> v[2 + Rule::kStates];
  const auto each = [&](int k, auto move) {
    if (bytes == sizeof(Pack<T>)) return move(k, sizeof(Pack<T>));
    return move(k, bytes);
  };
  const auto get = [&](int k, size_t size) {
    if (size < sizeof(Pack<T>)) v[k] = Pack<T>{};
    std::memcpy(&v[k], runs.at[k] + i, size);
  };
  const auto put = [&](int k, size_t size) { std::memcpy(runs.at[k] + i, &v[k], size); };
  for (int k = 0; k < 2 + Rule::kStates; ++k) each(k, get);
  if (n.unscale != 1.0) {
    v[1] *= all<T>(n.unscale);
    each(1, put);
  }
  Pack<T> g = v[1] * c.sign;
  if (n.weight_decay != 0.0) g += v[0] * c.weight_decay;
  Rule::apply(n, c, v[0], g, v + 2);
  each(0, put);
  for (int k = 2; k < 2 + Rule::kStates; ++k) each(k, put);
}

template <typename T, typename Rule>
void over(const UpdateNumbers& numbers, const Runs<T>& runs, int64_t count) {
  const UpdateNumbers n = numbers;
  const Numbers<T> c(n);
  int64_t i = 0;
  for (; i + kPack<T> <= count; i += kPack<T>) one_pack<T, Rule>(n, c, runs, i, sizeof(Pack<T>));
  if (i < count) one_pack<T, Rule>(n, c, runs, i, static_cast<size_t>(count - i) * sizeof(T));
}

constexpr int64_t kBlock = 512;  // elements of a short format that are wide at a time

inline void narrow(ChainElement element, float* wide, int64_t count, void* to) {
  for (int64_t i = 0; i < count; i += kVectorFloats) {  // a block has room for whole vectors
    const Vector x = load(wide + i);
    store(wide + i, element == ChainElement::kHalf ? through_half(x) : through_bfloat16(x));
  }
  chain_store(element, wide, count, to, 1);
}

// A short format: computed as float, and rounded once on the way back.
template <typename Rule>
void over_short(const UpdateArgs& args, ChainElement element) {
  alignas(64) float wide[2 + kUpdateStates][kBlock];
  uint16_t* tensors[2 + kUpdateStates] = {static_cast<uint16_t*>(args.param),
                                          static_cast<uint16_t*>(args.grad)};
  Runs<float> runs{};
  for (int s = 0; s < kUpdateStates; ++s) tensors[2 + s] = static_cast<uint16_t*>(args.states[s]);
  for (int k = 0; k < 2 + kUpdateStates; ++k) runs.at[k] = wide[k];
  for (int64_t i = 0; i < args.count; i += kBlock) {
    const int64_t count = std::min(kBlock, args.count - i);
    for (int k = 0; k < 2 + Rule::kStates; ++k) chain_load(element, tensors[k] + i, 1, count, wide[k]);
    over<float, Rule>(*args.numbers, runs, count);
    for (int k = 0; k < 2 + Rule::kStates; ++k) {
      if (k != 1 || args.numbers->unscale != 1.0) narrow(element, wide[k], count, tensors[k] + i);
    }
  }
}

template <typename T, typename Rule>
void over_tensors(const UpdateArgs& args) {
  Runs<T> runs{{static_cast<T*>(args.param), static_cast<T*>(args.grad)}};
  for (int s = 0; s < kUpdateStates; ++s) runs.at[2 + s] = static_cast<T*>(args.states[s]);
  over<T, Rule>(*args.numbers, runs, args.count);
}

template <template <typename> class Rule>
void by_element(const UpdateArgs& args) {
  switch (args.element) {
    case UpdateElement::kFloat:
      return over_tensors<float, Rule<float>>(args);
    case UpdateElement::kDouble:
      return over_tensors<double, Rule<double>>(args);
    case UpdateElement::kBfloat16:
      return over_short<Rule<float>>(args, ChainElement::kBfloat16);
    case UpdateElement::kHalf:
      return over_short<Rule<float>>(args, ChainElement::kHalf);
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
