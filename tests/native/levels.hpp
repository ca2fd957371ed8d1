// Run something at every instruction set level that this machine has.
#pragma once

#include <string>

#include "util/isa.hpp"

namespace sqe::testing {

template <class Act>
void at_each_level(const Act& act) {
  const std::string before = isa_name(isa());
  for (const std::string& level : isa_levels()) {
    set_isa(level);
    act();
  }
  set_isa(before);
}

}  // namespace sqe::testing
