#pragma once

#include <cstdint>

#include "text/text_view.hpp"

namespace sqe::text {

// Call `act` with the code points of `text` in the type that holds them.
template <class Act>
void visit_codes(const TextView& text, Act act) {
  if (text.width == 1) return act(static_cast<const std::uint8_t*>(text.data));
  if (text.width == 2) return act(static_cast<const std::uint16_t*>(text.data));
  return act(static_cast<const std::uint32_t*>(text.data));
}

}  // namespace sqe::text
