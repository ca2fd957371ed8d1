// A whole file mapped read-only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace sqe {

class MappedFile {
 public:
  // FileError, naming the path, if it cannot be opened or is empty.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  MappedFile(const void* data, std::size_t size) : data_(data), size_(size) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const char* data() const { return static_cast<const char*>(data_); }
  std::size_t size() const { return size_; }

 private:
  const void* data_;
  std::size_t size_;
};

// Writes a new file beside `path` and puts it in its place once it is whole and on disk, so that a reader
// sees the old file or the new one and a failure leaves the old one as it was. FileError, naming the path, on
// any failure.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  // removes the unfinished file
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t size);
  void commit();

 private:
  [[noreturn]] void fail(const char* what);

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace sqe
