// What becomes of a word once its pieces are known; shared by the two ways through a text.
//
// A word is a run of letters, marks, digits and connectors. Its pieces are what `code` splits it into (at
// connectors, case and digit boundaries); for `word`, what lies between connectors. So the first and the last
// piece give the word without its outer connectors, and a word of connectors alone has no piece and no token.
#pragma once

#include <cstdint>

#include "text/stop_words.hpp"
#include "text/tokenizer.hpp"

namespace sqe::text {

// Append the tokens of the word whose pieces are [first, last), at least one. `bytes` is out.bytes.data(),
// and at least eight bytes after each piece are readable.
template <TokenizerKind kind>
inline void emit_word(const TokenBuffer::Span* first, const TokenBuffer::Span* last, const char* bytes,
                      TokenBuffer& out) {
  if (kind == TokenizerKind::code && last - first == 1) {
    if (!is_stop_word(bytes + first->begin, first->length)) out.spans.push_back(*first);
    return;
  }
  const TokenBuffer::Span& end = last[-1];
  out.spans.push_back({first->begin, end.begin + end.length - first->begin});
  if constexpr (kind == TokenizerKind::code) {
    for (; first != last; ++first) {
      if (!is_stop_word(bytes + first->begin, first->length)) out.spans.push_back(*first);
    }
  }
}

}  // namespace sqe::text
