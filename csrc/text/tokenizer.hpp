// Text to tokens. Tokens are UTF-8; an unpaired surrogate becomes its three-byte form (as "surrogatepass"
// does).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/text_view.hpp"

namespace sqe::text {

// Tokens of one text, in order. Reused from text to text so that nothing is allocated in the steady state.
// At least kPadding readable bytes follow the last token, so that hashing may load whole words.
struct TokenBuffer {
  static constexpr std::size_t kPadding = 16;

  struct Span {
    std::uint32_t begin;
    std::uint32_t length;
  };

  std::vector<char> bytes;   // only grows; tokens may share bytes, and bytes may lie between them
  std::vector<Span> spans;   // the tokens
  std::vector<Span> pieces;  // scratch: parts of words that are not tokens yet

  std::size_t size() const { return spans.size(); }
  std::string_view operator[](std::size_t i) const {
    return {bytes.data() + spans[i].begin, spans[i].length};
  }

  // Make bytes[0, used + kPadding) writable, keeping what is there; InputError if `used` passes 4 GiB.
  char* room(std::size_t used);
};

enum class TokenizerKind : int { whitespace = 0, code = 1, word = 2 };

// "whitespace", "code", "word"; InputError for any other name.
TokenizerKind tokenizer_kind(const std::string& name);
std::string tokenizer_name(TokenizerKind kind);

// Replace the content of `out` with the tokens of `text`. InputError if the tokens' bytes pass 4 GiB.
void tokenize(TokenizerKind kind, const TextView& text, TokenBuffer& out);

}  // namespace sqe::text
