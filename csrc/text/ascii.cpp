// Tokens of ASCII text: the whole text is lowered once, and every token is a span of the lowered text. Where
// the spans lie comes from masks of 64 bytes at a time.
#include <algorithm>

#include "text/ascii_kernels.hpp"
#include "text/paths.hpp"
#include "text/span_scanner.hpp"
#include "text/words.hpp"

namespace sqe::text {
namespace {

using Span = TokenBuffer::Span;

constexpr std::size_t kChunkBlocks = 64;  // masks kept on the stack: 4 KiB of text
constexpr std::size_t kChunk = kChunkBlocks * kBlock;

// The masks one byte later in the text: bit i tells about byte i - 1. Keeps the last bit for the next block.
class Previous {
 public:
  std::uint64_t operator()(std::uint64_t mask) {
    const std::uint64_t shifted = mask << 1 | carry_;
    carry_ = mask >> 63;
    return shifted;
  }

 private:
  std::uint64_t carry_ = 0;
};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_lower(static_cast<char>(c | 0x20)); }

// Pieces of identifiers: at each change between letters and digits, before an upper case letter that follows
// a lower case one, and before the last letter of an upper case run that a lower case one follows.
class CodeEdges {
 public:
  // `next` is the block after, or stands for the byte after the last block.
  Edges operator()(const AsciiClasses& now, const AsciiClasses& next) {
    const std::uint64_t letter = now.lower | now.upper;
    const std::uint64_t inside = letter | now.digit;
    const std::uint64_t before = inside_(inside);
    const std::uint64_t lower_next = now.lower >> 1 | next.lower << 63;
    const std::uint64_t turn = (now.upper & lower_(now.lower)) |
                               (now.upper & upper_(now.upper) & lower_next) | (now.digit & letter_(letter)) |
                               (letter & digit_(now.digit));
    return {inside & (~before | turn), before & (~inside | turn)};
  }

 private:
  Previous inside_, lower_, upper_, letter_, digit_;
};

// Words apart from their connectors: letters and digits, an apostrophe between letters, a point between
// digits.
class WordEdges {
 public:
  Edges operator()(const AsciiClasses& now, const AsciiClasses& next) {
    const std::uint64_t letter = now.lower | now.upper;
    const std::uint64_t letter_next = letter >> 1 | (next.lower | next.upper) << 63;
    const std::uint64_t digit_next = now.digit >> 1 | next.digit << 63;
    const std::uint64_t inside = letter | now.digit | (now.apostrophe & letter_(letter) & letter_next) |
                                 (now.point & digit_(now.digit) & digit_next);
    const std::uint64_t before = inside_(inside);
    return {inside & ~before, ~inside & before};
  }

 private:
  Previous inside_, letter_, digit_;
};

// The pieces of all words, in order, into out.pieces.
template <class MakeEdges>
void scan_pieces(const char* text, std::size_t length, TokenBuffer& out) {
  char* lowered = out.room(length + kBlock);
  const AsciiKernels& kernels = SQE_DISPATCH(ascii_kernels);
  SpanScanner scanner(out.pieces);
  MakeEdges make_edges;
  AsciiClasses classes[kChunkBlocks + 1];
  Edges edges[kChunkBlocks];
  for (std::size_t base = 0; base < length; base += kChunk) {
    const std::size_t size = std::min(kChunk, length - base);
    const std::size_t n_blocks = (size + kBlock - 1) / kBlock;
    kernels.lower_classes(text + base, size, lowered + base, classes);
    const char after = base + size < length ? text[base + size] : ' ';
    classes[n_blocks] = {is_lower(after), is_letter(after) && !is_lower(after), is_digit(after), 0, 0, 0};
    for (std::size_t k = 0; k < n_blocks; ++k) edges[k] = make_edges(classes[k], classes[k + 1]);
    scanner.scan(edges, n_blocks, base);
  }
  scanner.finish(length);
}

// Pieces belong to one word if nothing but connectors lies between them.
template <TokenizerKind kind>
void group_pieces(TokenBuffer& out) {
  const char* lowered = out.bytes.data();
  const Span* const end = out.pieces.data() + out.pieces.size();
  for (const Span* first = out.pieces.data(); first != end;) {
    const Span* last = first + 1;
    for (; last != end; ++last) {
      std::uint32_t at = last[-1].begin + last[-1].length;
      while (at < last->begin && lowered[at] == '_') ++at;
      if (at < last->begin) break;
    }
    emit_word<kind>(first, last, lowered, out);
    first = last;
  }
}

}  // namespace

void whitespace_ascii(const char* text, std::size_t length, TokenBuffer& out) {
  char* lowered = out.room(length + kBlock);
  const AsciiKernels& kernels = SQE_DISPATCH(ascii_kernels);
  SpanScanner scanner(out.spans);
  Previous previous;
  std::uint64_t spaces[kChunkBlocks];
  Edges edges[kChunkBlocks];
  for (std::size_t base = 0; base < length; base += kChunk) {
    const std::size_t size = std::min(kChunk, length - base);
    const std::size_t n_blocks = (size + kBlock - 1) / kBlock;
    kernels.lower_spaces(text + base, size, lowered + base, spaces);
    for (std::size_t k = 0; k < n_blocks; ++k) {
      const std::uint64_t before = previous(~spaces[k]);
      edges[k] = {~spaces[k] & ~before, spaces[k] & before};
    }
    scanner.scan(edges, n_blocks, base);
  }
  scanner.finish(length);
}

void code_ascii(const char* text, std::size_t length, TokenBuffer& out) {
  scan_pieces<CodeEdges>(text, length, out);
  group_pieces<TokenizerKind::code>(out);
}

void word_ascii(const char* text, std::size_t length, TokenBuffer& out) {
  scan_pieces<WordEdges>(text, length, out);
  group_pieces<TokenizerKind::word>(out);
}

}  // namespace sqe::text
