// The layout of an index file (csrc/bm25/file.hpp), restated, to damage files behind their checksums.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "util/xxh64.hpp"

namespace sqe::testing::index_file {

constexpr std::size_t kHeader = 136;
constexpr std::size_t kSection = 24;  // offset, bytes, checksum
constexpr std::size_t kFileBytesAt = 48;
constexpr std::size_t kBlocksAt = 56;
constexpr std::size_t kChecksumAt = 128;

inline std::uint64_t read64(const std::uint8_t* at) {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline void write64(std::uint8_t* at, std::uint64_t value) { std::memcpy(at, &value, sizeof value); }

// How many sections the header names, 0 if the table does not fit into the file.
inline std::size_t n_sections(const std::uint8_t* data, std::size_t size) {
  if (size < kHeader) return 0;
  const std::uint64_t n_blocks = read64(data + kBlocksAt);
  if (n_blocks > size / (5 * kSection)) return 0;
  const std::size_t n = 3 + 5 * static_cast<std::size_t>(n_blocks);
  return kHeader + n * kSection <= size ? n : 0;
}

// Make the sizes and checksums true again after a change, so that only the content can be wrong.
inline void reseal(std::uint8_t* data, std::size_t size) {
  const std::size_t n = n_sections(data, size);
  if (n == 0) return;
  write64(data + kFileBytesAt, size);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint8_t* section = data + kHeader + i * kSection;
    const std::uint64_t offset = read64(section);
    const std::uint64_t bytes = read64(section + 8);
    if (offset <= size && bytes <= size - offset) write64(section + 16, xxh64(data + offset, bytes));
  }
  write64(data + kChecksumAt, 0);
  write64(data + kChecksumAt, xxh64(data + kHeader, n * kSection, xxh64(data, kHeader)));
}

// The sections' bytes; none if the header, the table or a section is cut off.
inline std::vector<std::vector<std::uint8_t>> sections(const std::uint8_t* data, std::size_t size) {
  std::vector<std::vector<std::uint8_t>> parts;
  for (std::size_t i = 0; i < n_sections(data, size); ++i) {
    const std::uint8_t* section = data + kHeader + i * kSection;
    const std::uint64_t offset = read64(section), bytes = read64(section + 8);
    if (offset > size || bytes > size - offset) return {};
    parts.emplace_back(data + offset, data + offset + bytes);
  }
  return parts;
}

// A file of `parts`, laid out and sealed as save_index does it, with the header of `data`.
inline std::vector<std::uint8_t> assemble(const std::uint8_t* data,
                                          const std::vector<std::vector<std::uint8_t>>& parts) {
  std::vector<std::uint8_t> file(data, data + kHeader);
  file.resize(kHeader + parts.size() * kSection);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    file.resize((file.size() + 63) / 64 * 64);
    write64(file.data() + kHeader + i * kSection, file.size());
    write64(file.data() + kHeader + i * kSection + 8, parts[i].size());
    file.insert(file.end(), parts[i].begin(), parts[i].end());
  }
  reseal(file.data(), file.size());
  return file;
}

}  // namespace sqe::testing::index_file
