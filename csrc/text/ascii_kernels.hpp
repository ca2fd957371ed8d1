// Kernels over ASCII text, one set for each instruction set level (ascii_simd.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "util/isa.hpp"

namespace sqe::text {

constexpr std::size_t kBlock = 64;  // bytes that one mask describes

struct AsciiKernels {
  // Write in[0, length) in lower case to `out` and, for each block of 64 bytes, the mask of Python's white
  // space. `out` takes whole blocks; past the end of `in` it gets spaces.
  void (*lower_spaces)(const char* in, std::size_t length, char* out, std::uint64_t* spaces);
};

SQE_DECLARE_LEVELS(AsciiKernels, ascii_kernels)

}  // namespace sqe::text
