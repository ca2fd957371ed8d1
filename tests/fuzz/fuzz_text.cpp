// Tokenizers on any text: one byte says how the rest is read as code points.
#include "../native/text_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t width = data[0] % 4;  // 0: ASCII; else bytes a code point
  sqe::testing::Codes codes;
  for (std::size_t i = 1; i + std::max<std::size_t>(width, 1) <= size; i += std::max<std::size_t>(width, 1)) {
    std::uint32_t code = data[i];
    for (std::size_t j = 1; j < width; ++j) code = code << 8 | data[i + j];
    codes.push_back(width == 0 ? code & 0x7F : code % 0x110000);
  }
  sqe::testing::check_text(codes);
  return 0;
}
