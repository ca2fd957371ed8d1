#include "text_checks.hpp"
#include "util/error.hpp"

namespace sqe::testing {
namespace {

// Texts of one flavour: few different characters make runs, turns and edges frequent.
Codes random_text(Random& random, std::size_t length) {
  static const Codes alphabets[] = {
      {'a', 'B', '1', ' '},
      {'a', 'Z', '0', '_', '\'', '.', '-', ' ', '\t', 0x1C, 0x7F, 0},
      {'a', 0xC9, 0xDF, 0xB5, 0xA0, 0x85, 0xAD, 0xB2, '_', '\''},
      {0x3A3, 0x3C3, 0x130, 'a', ' ', 0x301, 0x2019, 0xAD, '.'},
      {0x4E00, 0x3042, 0x30A2, 0x30FC, 0xAC00, 0xE01, 0xE31, 'x', '1', 0x200D, 0x3000},
      {0xD800, 0xDFFF, 0xFFFF, 0xFEFF, 'A', ' '},
      {0x10400, 0x10428, 0x1F600, 0xE0100, 0x10FFFF, 0x20000, 0x1D7CE, 'a'},
  };
  Codes codes(length);
  const std::size_t flavour = random.below(std::size(alphabets) + 3);
  for (std::uint32_t& code : codes) {
    if (flavour < std::size(alphabets)) {
      code = alphabets[flavour][random.below(alphabets[flavour].size())];
    } else {
      code = static_cast<std::uint32_t>(random.below(flavour == std::size(alphabets)       ? 0x80
                                                     : flavour == std::size(alphabets) + 1 ? 0x100
                                                                                           : 0x110000));
    }
  }
  return codes;
}

TEST(text_random) {
  Random random(1);
  for (int i = 0; i < 1500; ++i) check_text(random_text(random, random.below(200)));
}

TEST(text_every_short_length) {
  Random random(2);
  for (std::size_t length = 0; length <= 140; ++length) check_text(random_text(random, length));
  for (std::size_t length = 4090; length <= 4100; ++length) check_text(random_text(random, length));
}

TEST(text_long) {
  Random random(3);
  for (int i = 0; i < 12; ++i) check_text(random_text(random, 20'000 + random.below(5000)));
  for (const std::uint32_t code :
       Codes{'a', ' ', 'A', '7', '_', 0x3A3, 0x130, 0x30A2, 0x4E00, 0x301, 0x10400}) {
    check_text(Codes(10'000, code));
  }
}

TEST(text_names) {
  for (const char* name : {"whitespace", "code", "word"}) {
    CHECK(text::tokenizer_name(text::tokenizer_kind(name)) == name);
  }
  CHECK(throws<InputError>([] { text::tokenizer_kind("words"); }));
  text::TokenBuffer buffer;
  CHECK(throws<InputError>([&] { buffer.room(std::size_t{1} << 32); }));
}

}  // namespace
}  // namespace sqe::testing
