// Kernels over ASCII text, one set for each instruction set level (ascii_simd.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "util/isa.hpp"

namespace sqe::text {

constexpr std::size_t kBlock = 64;  // bytes that one mask describes, the lowest bit the first byte

struct AsciiClasses {
  std::uint64_t lower;
  std::uint64_t upper;
  std::uint64_t digit;
  std::uint64_t connector;   // _
  std::uint64_t apostrophe;  // '
  std::uint64_t point;       // .
};

// Each kernel writes in[0, length) in lower case to `out` and one mask (or set of masks) a block of 64 bytes.
// `out` takes whole blocks; past the end of `in` it gets spaces.
struct AsciiKernels {
  void (*lower_spaces)(const char* in, std::size_t length, char* out, std::uint64_t* spaces);
  void (*lower_classes)(const char* in, std::size_t length, char* out, AsciiClasses* classes);
};

SQE_DECLARE_LEVELS(AsciiKernels, ascii_kernels)

}  // namespace sqe::text
