// Terms and their ids: an open-addressing hash table over token bytes. Immutable once built, so that it can
// be viewed in a mapped file and shared between snapshots; VocabularyBuilder makes a larger one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "util/array.hpp"

namespace sqe::bm25 {

class Vocabulary {
 public:
  static constexpr std::uint32_t kMissing = 0xFFFFFFFFu;

  Vocabulary();
  Vocabulary(Array<std::uint64_t> slots, Array<std::uint64_t> offsets, Array<char> bytes);

  std::uint32_t size() const { return static_cast<std::uint32_t>(offsets_.size() - 1); }
  std::string_view term(std::uint32_t id) const {
    return {bytes_.data() + offsets_[id], static_cast<std::size_t>(offsets_[id + 1] - offsets_[id])};
  }

  // The id of `token`, or kMissing. One cache line for the slot, one for the bytes.
  std::uint32_t find(std::string_view token) const;

  // A slot is 0 when free, else (upper half of the hash, id + 1); probing is linear; a power of two of slots.
  const Array<std::uint64_t>& slots() const { return slots_; }
  const Array<std::uint64_t>& offsets() const { return offsets_; }
  const Array<char>& bytes() const { return bytes_; }

 private:
  Array<std::uint64_t> slots_;
  Array<std::uint64_t> offsets_;
  Array<char> bytes_;
};

// Grows from an existing vocabulary; ids already given stay.
class VocabularyBuilder {
 public:
  VocabularyBuilder();
  explicit VocabularyBuilder(const Vocabulary& base);

  std::uint32_t size() const { return static_cast<std::uint32_t>(offsets_.size() - 1); }
  std::uint32_t find(std::string_view token, std::uint64_t hash) const;
  // The id of `token`, a new one (the next number) if it is not there. InputError past 2^32 - 2 terms.
  std::uint32_t insert(std::string_view token, std::uint64_t hash);
  std::string_view term(std::uint32_t id) const {
    return {bytes_.data() + offsets_[id], static_cast<std::size_t>(offsets_[id + 1] - offsets_[id])};
  }
  void clear();

  Vocabulary finish() &&;

 private:
  void grow();

  std::vector<std::uint64_t> slots_;
  std::vector<std::uint64_t> offsets_;
  std::vector<char> bytes_;
};

}  // namespace sqe::bm25
