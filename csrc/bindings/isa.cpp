#include "bindings/isa.h"

#include <cstdlib>
#include <cstring>

namespace ostinato {
namespace {

struct Candidate {
  const char* name;
  bool built;
  bool supported;
  const KernelTable& (*table)();
};

#if defined(OSTINATO_HAS_AVX512)
bool cpu_has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool cpu_has_avx512() {
  return cpu_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

struct Choice {
  const KernelTable* table = &baseline::kernels();
  std::string problem;

  Choice() {
    const Candidate candidates[] = {
#if defined(OSTINATO_HAS_AVX512)
        {"avx512", true, cpu_has_avx512(), &avx512::kernels},
        {"avx2", true, cpu_has_avx2(), &avx2::kernels},
#else
        {"avx512", false, false, &baseline::kernels},
        {"avx2", false, false, &baseline::kernels},
#endif
        {"baseline", true, true, &baseline::kernels},
    };
    const char* forced = std::getenv("OSTINATO_ISA");
    const bool automatic = forced == nullptr || *forced == '\0';
    for (const Candidate& c : candidates) {
      if (automatic ? c.supported : std::strcmp(forced, c.name) == 0) {
        if (c.supported) {
          table = &c.table();
        } else {
          problem = std::string(c.name) +
                    (c.built ? " is not supported by this processor" : " is not in this build");
        }
        return;
      }
    }
    problem = std::string(forced) + " is not one of baseline, avx2, avx512";
  }
};

const Choice& choice() {
  static const Choice chosen;
  return chosen;
}

}  // namespace

const KernelTable& kernels() { return *choice().table; }
const std::string& isa_problem() { return choice().problem; }

}  // namespace ostinato
