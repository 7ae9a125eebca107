#include "graph/shared_filters.h"

#include <cstring>
#include <utility>

#include "graph/shared_copies.h"

namespace ostinato {
namespace {

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Several copies of one weight are those that graphs of other shapes pack in another way.
using Copies = SharedCopies<const void*, Floats>;

Copies& copies() {
  static auto* all = new Copies;  // never destroyed: plans may outlive the library's own teardown
  return *all;
}

}  // namespace

std::shared_ptr<const Floats> shared_filters(const void* source, Floats packed) {
  return copies().get(
      source, [&](const Floats& copy) { return same_bits(copy, packed); },
      [&] { return std::make_shared<const Floats>(std::move(packed)); });
}

int64_t filter_bytes() {
  return copies().sum([](const Floats& copy) { return static_cast<int64_t>(copy.size() * sizeof(float)); });
}

}  // namespace ostinato
