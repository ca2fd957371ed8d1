// The two ways through a text, chosen by tokenize(): bytes of ASCII by masks of 64, all else code point by
// code point. Both give the same tokens for the same text; each replaces the spans of `out`.
#pragma once

#include <cstddef>

#include "text/text_view.hpp"
#include "text/tokenizer.hpp"

namespace sqe::text {

void whitespace_ascii(const char* text, std::size_t length, TokenBuffer& out);
void whitespace_wide(const TextView& text, TokenBuffer& out);

}  // namespace sqe::text
