// A text as Python stores it (PEP 393): code points of one fixed width, valid while its owner lives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sqe::text {

struct TextView {
  const void* data = nullptr;
  std::size_t length = 0;  // code points
  int width = 1;           // bytes a code point: 1 (latin-1), 2 or 4; width 1 and ascii is the common case
  bool ascii = false;      // every code point < 128
};

}  // namespace sqe::text
