// The two kinds of failure the core reports; the bindings turn them into Python exceptions.
#pragma once

#include <stdexcept>
#include <string>

namespace sqe {

// An argument is outside what is allowed. The message names the argument, what was given and what is allowed.
class InputError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A file is missing, damaged, of another kind or version, or cannot be written. The message names the file.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sqe
