#include "util/isa.hpp"

#include <atomic>
#include <cstdlib>

#include "util/error.hpp"

#if defined(SQE_X86) && defined(__clang__)
#include <cpuid.h>
#endif

namespace sqe {
namespace {

constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};

#if defined(SQE_X86) && defined(__clang__) && __clang_major__ < 19
// Older clangs do not know the levels' names, and not all of their features' either.
bool supports_v3() {
  unsigned a = 0, b = 0, basic = 0, extended = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &basic, &d) || !__get_cpuid(0x80000001, &a, &b, &extended, &d)) return false;
  constexpr unsigned kF16c = 1u << 29, kMovbe = 1u << 22, kLzcnt = 1u << 5;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma") && (basic & kF16c) && (basic & kMovbe) && (extended & kLzcnt);
}
bool supports_v4() {
  return supports_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#elif defined(SQE_X86)
bool supports_v3() { return __builtin_cpu_supports("x86-64-v3"); }
bool supports_v4() { return __builtin_cpu_supports("x86-64-v4"); }
#endif

Isa best_level() {
#if defined(SQE_X86)
  __builtin_cpu_init();
  if (supports_v4()) return Isa::avx512;
  if (supports_v3()) return Isa::avx2;
#endif
  return Isa::baseline;
}

Isa parse_level(const std::string& name, const char* source) {
  for (int level = 0; level < 3; ++level) {
    if (name != kNames[level]) continue;
    if (level > static_cast<int>(best_level())) {
      throw InputError(std::string(source) + ": level '" + name +
                       "' is not supported by this machine; the best here is '" + isa_name(best_level()) +
                       "'");
    }
    return static_cast<Isa>(level);
  }
  throw InputError(std::string(source) + ": unknown level '" + name +
                   "'; allowed are baseline, avx2, avx512");
}

std::atomic<int> current{-1};

}  // namespace

Isa isa() {
  int level = current.load(std::memory_order_relaxed);
  if (level >= 0) return static_cast<Isa>(level);
  const char* wish = std::getenv("SQE_FAST_ISA");
  level = static_cast<int>(wish && *wish ? parse_level(wish, "SQE_FAST_ISA") : best_level());
  current.store(level, std::memory_order_relaxed);
  return static_cast<Isa>(level);
}

void set_isa(const std::string& name) {
  current.store(static_cast<int>(parse_level(name, "set_isa")), std::memory_order_relaxed);
}

std::string isa_name(Isa level) { return kNames[static_cast<int>(level)]; }

std::vector<std::string> isa_levels() {
  std::vector<std::string> names;
  for (int level = 0; level <= static_cast<int>(best_level()); ++level) names.emplace_back(kNames[level]);
  return names;
}

}  // namespace sqe
