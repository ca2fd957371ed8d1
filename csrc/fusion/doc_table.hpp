// The distinct documents of one query, in the order in which they are first seen.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace sqe::fusion {

// An open-addressing table from id to entry, emptied for every query and reused for all queries of a thread.
// Slots hold entry numbers of 16 bits where they suffice: at six slots or more an entry the whole table of a
// usual query stays in the first-level cache, and emptying it costs less than telling stale slots apart.
// `Entry` is any struct with a member `std::int32_t id`; entries are numbered from 1, 0 marks a free slot.
template <class Entry, class Index>
class DocTable {
 public:
  explicit DocTable(std::size_t max_entries)
      : bits_(std::bit_width(max_entries * 6 | 15)),
        slots_(std::make_unique_for_overwrite<Index[]>(std::size_t{1} << bits_)),
        entries_(std::make_unique_for_overwrite<Entry[]>(max_entries + 1)) {}

  static bool fits(std::size_t max_entries) { return max_entries < static_cast<Index>(-1); }

  void clear() {
    std::memset(slots_.get(), 0, sizeof(Index) << bits_);
    size_ = 0;
  }

  // The entry of `id`, and whether it is new; of a new entry only `id` is set. Expected O(1).
  std::pair<Entry*, bool> insert(std::int32_t id) {
    std::size_t slot = (static_cast<std::uint32_t>(id) * 0x9E3779B97F4A7C15u) >> (64 - bits_);
    Index at = slots_[slot];
    while (at != 0 && entries_[at].id != id) {
      slot = (slot + 1) & ((std::size_t{1} << bits_) - 1);
      at = slots_[slot];
    }
    if (at != 0) return {&entries_[at], false};
    slots_[slot] = static_cast<Index>(++size_);
    entries_[size_].id = id;
    return {&entries_[size_], true};
  }

  std::size_t size() const { return size_; }
  Entry* begin() { return entries_.get() + 1; }
  Entry* end() { return entries_.get() + 1 + size_; }

 private:
  const int bits_;
  const std::unique_ptr<Index[]> slots_;
  const std::unique_ptr<Entry[]> entries_;
  std::size_t size_ = 0;
};

}  // namespace sqe::fusion
