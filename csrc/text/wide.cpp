// White space tokens of any text, code point by code point.
#include <algorithm>

#include "text/paths.hpp"
#include "text/unicode.hpp"
#include "text/visit_codes.hpp"

namespace sqe::text {
namespace {

using Span = TokenBuffer::Span;

constexpr std::size_t kChunk = 4096;  // code points between two looks at the room left

template <class Code>
void whitespace(const Code* text, std::size_t length, TokenBuffer& out) {
  std::size_t used = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < length;) {
    const std::size_t stop = std::min(length, i + kChunk);
    char* bytes = out.room(used + (stop - i) * kMaxLowerBytes);
    char* at = bytes + used;
    for (; i < stop; ++i) {
      const Record& entry = record(text[i]);
      if (!(entry.flags & kSpace)) {
        at = put_lower(at, text, length, i, entry);
        continue;
      }
      const auto end = static_cast<std::size_t>(at - bytes);
      if (end > begin) {
        out.spans.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)});
      }
      begin = end;
    }
    used = static_cast<std::size_t>(at - bytes);
  }
  if (used > begin) {
    out.spans.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(used - begin)});
  }
}

}  // namespace

void whitespace_wide(const TextView& text, TokenBuffer& out) {
  visit_codes(text, [&](const auto* codes) { whitespace(codes, text.length, out); });
}

}  // namespace sqe::text
