#include "util/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "util/error.hpp"

namespace sqe {
namespace {

std::string reason() { return std::strerror(errno); }

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // no wait on a pipe
  if (descriptor < 0) throw FileError(path + ": cannot be opened: " + reason());
  struct stat info{};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    throw FileError(path + ": not a regular file");
  }
  const std::size_t size = static_cast<std::size_t>(info.st_size);
  if (size == 0) {
    ::close(descriptor);
    throw FileError(path + ": the file is empty");
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const std::string why = data == MAP_FAILED ? reason() : "";
  ::close(descriptor);
  if (data == MAP_FAILED) throw FileError(path + ": cannot be mapped: " + why);
  return std::make_shared<const MappedFile>(data, size);
}

MappedFile::~MappedFile() { ::munmap(const_cast<void*>(data_), size_); }

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  // Not mkstemp: its files are private, and the mask of usual permissions cannot be read without a race.
  static std::atomic<unsigned> counter{0};
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::string start = path.substr(0, name + 200) + ".";  // names have at most 255 bytes
  do {
    temporary_ = start + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) throw FileError(path + ": cannot be written: " + reason());
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) { throw FileError(path_ + ": " + what + ": " + reason()); }

void AtomicFile::write(const void* data, std::size_t size) {
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, p, std::min<std::size_t>(size, 1u << 30));
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot be written");
    }
    p += written;
    size -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("cannot be written");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail("cannot be written");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be put in place");
  temporary_.clear();
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  if (const int f = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); f >= 0) {
    ::fsync(f);  // make the new name durable; a file system that refuses has no more to give
    ::close(f);
  }
}

}  // namespace sqe
