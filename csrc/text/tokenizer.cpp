#include "text/tokenizer.hpp"

#include <limits>

#include "text/paths.hpp"
#include "util/error.hpp"

namespace sqe::text {
namespace {

constexpr const char* kNames[] = {"whitespace", "code", "word"};

}  // namespace

TokenizerKind tokenizer_kind(const std::string& name) {
  for (int kind = 0; kind < 3; ++kind) {
    if (name == kNames[kind]) return static_cast<TokenizerKind>(kind);
  }
  throw InputError("tokenizer must be one of whitespace, code, word; got '" + name + "'");
}

std::string tokenizer_name(TokenizerKind kind) { return kNames[static_cast<int>(kind)]; }

char* TokenBuffer::room(std::size_t used) {
  if (used > std::numeric_limits<std::uint32_t>::max()) {
    throw InputError("a text is too long: its tokens may pass 4 GiB; split it");
  }
  if (bytes.size() < used + kPadding) bytes.resize(used + kPadding);
  return bytes.data();
}

void tokenize(TokenizerKind kind, const TextView& text, TokenBuffer& out) {
  out.spans.clear();
  out.room(0);
  const auto* bytes = static_cast<const char*>(text.data);
  switch (kind) {
    case TokenizerKind::whitespace:
      return text.ascii ? whitespace_ascii(bytes, text.length, out) : whitespace_wide(text, out);
    case TokenizerKind::code:
      return text.ascii ? code_ascii(bytes, text.length, out) : code_wide(text, out);
    case TokenizerKind::word:
      return text.ascii ? word_ascii(bytes, text.length, out) : word_wide(text, out);
  }
}

}  // namespace sqe::text
