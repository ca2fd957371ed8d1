// The laws of the tokenizers that hold for any text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "levels.hpp"
#include "text/tokenizer.hpp"

namespace sqe::testing {

using Codes = std::vector<std::uint32_t>;
using Tokens = std::vector<std::string>;

inline Tokens tokens_of(const text::TokenBuffer& buffer) {
  Tokens tokens;
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    const text::TokenBuffer::Span span = buffer.spans[i];
    CHECK(span.begin + std::size_t{span.length} + text::TokenBuffer::kPadding <= buffer.bytes.size());
    CHECK(span.length > 0);
    tokens.emplace_back(buffer[i]);
  }
  return tokens;
}

// The tokens of `codes` held in elements of type Code, in a block of memory of just that size.
template <class Code>
Tokens tokenize_as(text::TokenizerKind kind, const Codes& codes, bool ascii, text::TokenBuffer& buffer) {
  Exact<Code> exact(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) exact[i] = static_cast<Code>(codes[i]);
  text::tokenize(kind, {exact.data(), codes.size(), sizeof(Code), ascii}, buffer);
  return tokens_of(buffer);
}

// str.split() of lowered ASCII, restated.
inline Tokens split_ascii(const Codes& codes) {
  Tokens tokens;
  bool open = false;
  for (const std::uint32_t code : codes) {
    const bool space = code == ' ' || (code >= '\t' && code <= '\r') || (code >= 0x1C && code <= 0x1F);
    if (space) {
      open = false;
      continue;
    }
    if (!open) tokens.emplace_back();
    open = true;
    tokens.back() += static_cast<char>(code >= 'A' && code <= 'Z' ? code + 32 : code);
  }
  return tokens;
}

// UTF-8 in its shortest form, surrogates as three bytes.
inline bool well_formed(const std::string& token) {
  for (std::size_t i = 0; i < token.size();) {
    const auto first = static_cast<unsigned char>(token[i]);
    const std::size_t more = first < 0x80 ? 0 : first < 0xC2 ? 9 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    if (first > 0xF4 || i + more >= token.size()) return false;
    std::uint32_t code = more == 0 ? first : first & (0x3Fu >> more);
    for (std::size_t j = 1; j <= more; ++j) {
      const auto byte = static_cast<unsigned char>(token[i + j]);
      if ((byte & 0xC0) != 0x80) return false;
      code = code << 6 | (byte & 0x3Fu);
    }
    if ((more == 2 && code < 0x800) || (more == 3 && (code < 0x10000 || code > 0x10FFFF))) return false;
    i += more + 1;
  }
  return true;
}

// Every width that can hold the text, both ways through it and every level give the same well-formed tokens;
// so does a buffer that held other tokens before. Codes must be below 0x110000.
inline void check_text(const Codes& codes) {
  const std::uint32_t largest = codes.empty() ? 0 : *std::max_element(codes.begin(), codes.end());
  for (const auto kind :
       {text::TokenizerKind::whitespace, text::TokenizerKind::code, text::TokenizerKind::word}) {
    text::TokenBuffer buffer;
    const Tokens expected = tokenize_as<std::uint32_t>(kind, codes, false, buffer);
    for (const std::string& token : expected) CHECK(well_formed(token));
    CHECK((tokenize_as<std::uint32_t>(kind, codes, false, buffer) == expected));
    if (largest < 0x10000) CHECK((tokenize_as<std::uint16_t>(kind, codes, false, buffer) == expected));
    if (largest < 0x100) CHECK((tokenize_as<std::uint8_t>(kind, codes, false, buffer) == expected));
    if (largest >= 0x80) continue;
    if (kind == text::TokenizerKind::whitespace) CHECK(expected == split_ascii(codes));
    at_each_level([&] {
      text::TokenBuffer fresh;
      CHECK((tokenize_as<std::uint8_t>(kind, codes, true, fresh) == expected));
      CHECK((tokenize_as<std::uint8_t>(kind, codes, true, buffer) == expected));
    });
  }
}

}  // namespace sqe::testing
