// `word` and `code` tokens of any text, code point by code point.
//
// A text falls into runs, each with its own rule:
//   words (letters of spaced scripts, digits, connectors): see words.hpp for their tokens
//   Katakana, Hangul: the run is the token
//   unspaced scripts (Han, Hiragana, Thai, ...): overlapping pairs of letters; a lone letter stands for
//   itself
// A mark belongs to the letter before it and is dropped where there is none. Ignored characters (soft hyphen,
// joiners, variation selectors) neither end a run nor reach a token.
#include "text/paths.hpp"
#include "text/unicode.hpp"
#include "text/visit_codes.hpp"
#include "text/words.hpp"

namespace sqe::text {
namespace {

using Span = TokenBuffer::Span;

bool is_letter(Class kind) { return kind == Class::lower || kind == Class::upper; }

template <TokenizerKind kind, class Code>
class Segmenter {
 public:
  Segmenter(const Code* text, std::size_t length, TokenBuffer& out)
      : text_(text), length_(length), out_(out), bytes_(out.room(length * kMaxBytes)), at_(bytes_) {}

  void run() {
    for (std::size_t i = 0; i < length_;) {
      switch (class_at(i)) {
        case Class::lower:
        case Class::upper:
        case Class::digit:
        case Class::connector:
          i = word(i);
          break;
        case Class::katakana:
        case Class::kana_length:
          i = whole_run(i, Class::katakana);
          break;
        case Class::hangul:
          i = whole_run(i, Class::hangul);
          break;
        case Class::unspaced:
          i = pairs(i);
          break;
        default:
          ++i;
      }
    }
  }

 private:
  // UTF-8 bytes a code point may lower to. Lowering leaves neither latin-1 nor the plane, U+0130 aside: 3
  // bytes.
  static constexpr std::size_t kMaxBytes = sizeof(Code) == 1 ? 2 : sizeof(Code) == 2 ? 3 : kMaxLowerBytes;

  Class class_at(std::size_t i) const { return record(text_[i]).kind; }
  std::uint32_t written() const { return static_cast<std::uint32_t>(at_ - bytes_); }
  void copy(std::size_t i) { at_ = put_utf8(at_, text_[i]); }
  void push(std::uint32_t begin, std::uint32_t end) { out_.spans.push_back({begin, end - begin}); }

  // The class of the first character after i that is not ignored.
  Class class_after(std::size_t i) const {
    while (++i < length_) {
      if (const Class next = class_at(i); next != Class::ignored) return next;
    }
    return Class::separator;
  }

  // The end of the word that begins at `begin`.
  std::size_t word_end(std::size_t begin) const {
    Class before = Class::separator;  // of the last character that reaches the token
    std::size_t i = begin;
    for (; i < length_; ++i) {
      const Class now = class_at(i);
      switch (now) {
        case Class::lower:
        case Class::upper:
        case Class::digit:
        case Class::connector:
          before = now;
          break;
        case Class::mark:
          if (before != Class::connector) before = now;
          break;
        case Class::ignored:
          break;
        case Class::apostrophe:
        case Class::mid_letter:
          if (kind != TokenizerKind::word || !(is_letter(before) || before == Class::mark) ||
              !is_letter(class_after(i))) {
            return i;
          }
          before = now;
          break;
        case Class::point:
          if (kind != TokenizerKind::word || before != Class::digit || class_after(i) != Class::digit)
            return i;
          before = now;
          break;
        default:
          return i;
      }
    }
    return i;
  }

  // Emit the word that begins at `begin`; returns its end.
  std::size_t word(std::size_t begin) {
    const std::size_t end = word_end(begin);
    out_.pieces.clear();
    bool open = false;  // whether a piece is: it ends at a connector
    std::uint32_t piece = 0;
    std::uint32_t last_base = 0;      // where the last letter or digit of the piece starts
    Class before = Class::separator;  // and its class
    const auto close = [&](std::uint32_t to) { out_.pieces.push_back({piece, to - piece}); };
    for (std::size_t i = begin; i < end; ++i) {
      const Record& entry = record(text_[i]);
      const std::uint32_t here = written();
      switch (entry.kind) {
        case Class::ignored:
          continue;
        case Class::mark:
          if (!open) continue;
          break;
        case Class::connector:
          if (open) close(here);
          open = false;
          break;
        case Class::apostrophe:
          *at_++ = '\'';
          continue;
        case Class::lower:
        case Class::upper:
        case Class::digit:
          if (!open) {
            piece = here;
          } else if (kind == TokenizerKind::code) {
            if (turns(before, entry.kind)) {
              close(here);
              piece = here;
            } else if (before == Class::upper && entry.kind == Class::lower && last_base > piece) {
              close(last_base);  // HTTPResponse: the last capital begins the next piece
              piece = last_base;
            }
          }
          open = true;
          last_base = here;
          before = entry.kind;
          break;
        default:
          break;
      }
      at_ = put_lower(at_, text_ + begin, end - begin, i - begin, entry);
    }
    if (open) close(written());
    if (!out_.pieces.empty()) {
      const Span* first = out_.pieces.data();
      emit_word<kind>(first, first + out_.pieces.size(), bytes_, out_);
    }
    return end;
  }

  static bool turns(Class before, Class now) {
    return (before == Class::digit) != (now == Class::digit) ||
           (before == Class::lower && now == Class::upper);
  }

  std::size_t whole_run(std::size_t i, Class run) {
    const std::uint32_t begin = written();
    for (; i < length_; ++i) {
      const Class now = class_at(i);
      if (now == Class::ignored) continue;
      if (now != run && now != Class::mark && !(now == Class::kana_length && run == Class::katakana)) break;
      copy(i);
    }
    push(begin, written());
    return i;
  }

  std::size_t pairs(std::size_t i) {
    std::uint32_t previous = 0;  // where the last letter but one, with its marks, starts
    std::uint32_t current = 0;
    std::size_t letters = 0;
    for (; i < length_; ++i) {
      const Class now = class_at(i);
      if (now == Class::ignored) continue;
      if (now == Class::unspaced || now == Class::kana_length) {
        if (letters >= 2) push(previous, written());
        previous = current;
        current = written();
        ++letters;
      } else if (now != Class::mark) {
        break;
      }
      copy(i);
    }
    push(letters >= 2 ? previous : current, written());
    return i;
  }

  const Code* text_;
  std::size_t length_;
  TokenBuffer& out_;
  char* bytes_;
  char* at_;
};

template <TokenizerKind kind>
void segment(const TextView& text, TokenBuffer& out) {
  visit_codes(text,
              [&]<class Code>(const Code* codes) { Segmenter<kind, Code>(codes, text.length, out).run(); });
}

}  // namespace

void code_wide(const TextView& text, TokenBuffer& out) { segment<TokenizerKind::code>(text, out); }
void word_wide(const TextView& text, TokenBuffer& out) { segment<TokenizerKind::word>(text, out); }

}  // namespace sqe::text
