// Index files: refused by name, or an index that works. The mutator makes the checksums of most of its files
// true again, so that the checks behind them are reached.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "../native/index_file.hpp"
#include "../native/loaded_checks.hpp"
#include "util/error.hpp"

namespace file = sqe::testing::index_file;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using sqe::testing::Random;

// The bytes of one section, the table or the header.
void pick_range(Random& random, const std::uint8_t* data, std::size_t size, std::size_t* begin,
                std::size_t* end) {
  const std::size_t n = file::n_sections(data, size);
  *begin = 8;  // not the magic
  *end = std::min(size, file::kHeader);
  if (n == 0 || random.chance(8)) return;
  if (random.chance(6)) {
    *begin = file::kHeader;
    *end = file::kHeader + n * file::kSection;
    return;
  }
  const std::uint8_t* section = data + file::kHeader + random.below(n) * file::kSection;
  const std::uint64_t offset = file::read64(section), bytes = file::read64(section + 8);
  if (bytes == 0 || offset > size || bytes > size - offset) return;
  *begin = static_cast<std::size_t>(offset);
  *end = static_cast<std::size_t>(offset + bytes);
}

// Change one number of 1, 2, 4 or 8 bytes where a number of that size stands.
void change_number(Random& random, std::uint8_t* data, std::size_t size) {
  std::size_t begin = 0, end = 0;
  pick_range(random, data, size, &begin, &end);
  const std::size_t width = std::size_t{1} << random.below(4);
  if (end < begin + width) return;
  std::uint8_t* at = data + begin + random.below((end - begin) / width) * width;
  std::uint64_t value = 0;
  std::memcpy(&value, at, width);
  switch (random.below(5)) {
    case 0:
      value += random.from(1, 3);
      break;
    case 1:
      value -= random.from(1, 3);
      break;
    case 2:
      value = random.below(300);
      break;
    case 3:
      value ^= std::uint64_t{1} << random.below(8 * width);
      break;
    default:
      value = ~std::uint64_t{0} >> random.below(64);
  }
  std::memcpy(at, &value, width);
}

// Let libFuzzer change one section, its size as well, and lay the file out anew. Returns the new size, or the
// old one where that cannot be.
std::size_t change_section(Random& random, std::uint8_t* data, std::size_t size, std::size_t max_size) {
  auto parts = file::sections(data, size);
  if (parts.empty()) return size;
  auto& part = parts[random.below(parts.size())];
  const std::size_t before = part.size();
  if (random.chance(2)) {
    part.resize(before + 64);
    part.resize(LLVMFuzzerMutate(part.data(), before, part.size()));
  } else if (before >= 8 && random.chance(2)) {  // an element less, or the same once more
    const auto at = part.begin() + static_cast<std::ptrdiff_t>(random.below(before / 4 - 1) * 4);
    part.erase(at, at + static_cast<std::ptrdiff_t>(random.chance(2) ? 4 : 8));
  } else if (before >= 8) {
    const std::size_t at = random.below(before / 4 - 1) * 4;
    const std::vector<std::uint8_t> copy(part.begin() + static_cast<std::ptrdiff_t>(at),
                                         part.begin() + static_cast<std::ptrdiff_t>(at + 8));
    part.insert(part.begin() + static_cast<std::ptrdiff_t>(at), copy.begin(),
                copy.begin() + (random.chance(2) ? 4 : 8));
  }
  const std::vector<std::uint8_t> whole = file::assemble(data, parts);
  if (whole.size() > max_size) return size;
  std::copy(whole.begin(), whole.end(), data);
  return whole.size();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  Random random(seed);
  if (random.chance(8)) {
    size = LLVMFuzzerMutate(data, size, max_size);
  } else if (random.chance(3)) {
    size = change_section(random, data, size, max_size);
  } else {
    for (std::size_t i = random.from(1, 4); i > 0 && size > file::kHeader; --i) {
      change_number(random, data, size);
    }
  }
  if (!random.chance(16)) file::reseal(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int descriptor = ::memfd_create("index", MFD_CLOEXEC);
  if (descriptor < 0 || ::write(descriptor, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  try {
    sqe::testing::check_loaded(*sqe::bm25::Index::load(path, 1));
  } catch (const sqe::FileError&) {
  }
  ::close(descriptor);
  return 0;
}
