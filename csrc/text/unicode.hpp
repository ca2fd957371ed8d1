// What each code point is: how it lowers, whether it is white space, what it is to a tokenizer. The tables
// come from the Python that the module is built for (generate_tables.py), so both agree on every string.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sqe::text {

enum class Class : std::uint8_t {
  separator,
  lower,  // a letter that is not upper case, of any script not named below
  upper,  // an upper or title case letter
  digit,  // any number character
  connector,
  mark,
  ignored,   // format characters and variation selectors: inside words, and left out of them
  katakana,  // words of their own
  hangul,
  unspaced,     // letters of scripts written without spaces between words
  kana_length,  // prolongs the kana before it
  apostrophe,
  mid_letter,
  point,
};

struct Record {
  std::int32_t delta;  // from the code point to its lower form
  Class kind;
  std::uint8_t flags;
};

constexpr std::uint8_t kSpace = 1;
constexpr std::uint8_t kCased = 2;      // and not case-ignorable
constexpr std::uint8_t kIgnorable = 4;  // case-ignorable
constexpr std::uint8_t kSpecial = 8;    // lowers by context (capital sigma) or to several code points

struct Expansion {
  std::uint32_t code;
  std::uint8_t length;
  const char* utf8;
};

#include "unicode_tables.inc"

// `code` must be below 0x110000.
inline const Record& record(std::uint32_t code) {
  const std::size_t block = kStage1[code >> kBlockBits];
  return kRecords[kStage2[(block << kBlockBits) | (code & ((1u << kBlockBits) - 1))]];
}

// Write `code` as UTF-8 and return the end. A surrogate becomes its three-byte form.
inline char* put_utf8(char* at, std::uint32_t code) {
  if (code < 0x80) {
    *at++ = static_cast<char>(code);
  } else if (code < 0x800) {
    *at++ = static_cast<char>(0xC0 | code >> 6);
    *at++ = static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *at++ = static_cast<char>(0xE0 | code >> 12);
    *at++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
    *at++ = static_cast<char>(0x80 | (code & 0x3F));
  } else {
    *at++ = static_cast<char>(0xF0 | code >> 18);
    *at++ = static_cast<char>(0x80 | (code >> 12 & 0x3F));
    *at++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
    *at++ = static_cast<char>(0x80 | (code & 0x3F));
  }
  return at;
}

// Whether the capital sigma at text[i] ends its word, as str.lower() sees it within text[0, length): a cased
// letter stands before it and none after, case-ignorable ones left out. Those runs hold no sigma, so a whole
// text stays linear.
template <class Code>
bool final_sigma(const Code* text, std::size_t length, std::size_t i) {
  std::size_t j = i;
  while (j > 0 && record(text[j - 1]).flags & kIgnorable) --j;
  if (j == 0 || !(record(text[j - 1]).flags & kCased)) return false;
  for (j = i + 1; j < length && record(text[j]).flags & kIgnorable;) ++j;
  return j == length || !(record(text[j]).flags & kCased);
}

// Write the lower form of text[i] within text[0, length) and return the end: at most kMaxLowerBytes bytes.
template <class Code>
char* put_lower(char* at, const Code* text, std::size_t length, std::size_t i, const Record& entry) {
  const std::uint32_t code = text[i];
  if (!(entry.flags & kSpecial)) return put_utf8(at, code + static_cast<std::uint32_t>(entry.delta));
  for (const Expansion& expansion : kExpansions) {
    if (expansion.code != code) continue;
    for (int byte = 0; byte < expansion.length; ++byte) *at++ = expansion.utf8[byte];
    return at;
  }
  return put_utf8(at, final_sigma(text, length, i) ? 0x3C2 : 0x3C3);
}

}  // namespace sqe::text
