// A folder of its own for a test's files, removed with them at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "check.hpp"

namespace sqe::testing {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sqe_fast.XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~ScratchFolder() { std::filesystem::remove_all(folder_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

}  // namespace sqe::testing
