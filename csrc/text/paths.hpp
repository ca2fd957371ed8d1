// The two ways through a text, chosen by tokenize(): ASCII by masks of 64 bytes (ascii.cpp), all else code
// point by code point (wide.cpp, words.cpp). Both give the same tokens for the same text. `out` comes with no
// spans.
#pragma once

#include <cstddef>

#include "text/text_view.hpp"
#include "text/tokenizer.hpp"

namespace sqe::text {

void whitespace_ascii(const char* text, std::size_t length, TokenBuffer& out);
void code_ascii(const char* text, std::size_t length, TokenBuffer& out);
void word_ascii(const char* text, std::size_t length, TokenBuffer& out);

void whitespace_wide(const TextView& text, TokenBuffer& out);
void code_wide(const TextView& text, TokenBuffer& out);
void word_wide(const TextView& text, TokenBuffer& out);

}  // namespace sqe::text
