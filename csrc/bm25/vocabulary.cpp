#include "bm25/vocabulary.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "util/error.hpp"
#include "util/hash.hpp"

namespace sqe::bm25 {
namespace {

constexpr std::size_t kFirstSlots = 64;
constexpr std::uint64_t kTagMask = 0xFFFFFFFF00000000ULL;

std::uint64_t slot_value(std::uint64_t hash, std::uint32_t id) { return (hash & kTagMask) | (id + 1u); }

// Position of the token's slot, or of the free slot where it belongs. Slots are never full.
std::size_t probe(const std::uint64_t* slots, std::size_t n_slots, const std::uint64_t* offsets,
                  const char* bytes, std::string_view token, std::uint64_t hash) {
  const std::size_t mask = n_slots - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const std::uint64_t slot = slots[at];
    if (slot == 0) return at;
    if (((slot ^ hash) & kTagMask) != 0) continue;
    const std::uint32_t id = static_cast<std::uint32_t>(slot) - 1;
    const std::uint64_t begin = offsets[id];
    if (offsets[id + 1] - begin == token.size() &&
        std::memcmp(bytes + begin, token.data(), token.size()) == 0) {
      return at;
    }
  }
}

std::uint32_t id_of(std::uint64_t slot) { return static_cast<std::uint32_t>(slot) - 1; }  // free: kMissing

}  // namespace

Vocabulary::Vocabulary() : Vocabulary(VocabularyBuilder().finish()) {}

Vocabulary::Vocabulary(Array<std::uint64_t> slots, Array<std::uint64_t> offsets, Array<char> bytes)
    : slots_(std::move(slots)), offsets_(std::move(offsets)), bytes_(std::move(bytes)) {}

std::uint32_t Vocabulary::find(std::string_view token) const {
  return id_of(
      slots_[probe(slots_.data(), slots_.size(), offsets_.data(), bytes_.data(), token, hash_token(token))]);
}

VocabularyBuilder::VocabularyBuilder() : slots_(kFirstSlots, 0), offsets_(1, 0) {}

VocabularyBuilder::VocabularyBuilder(const Vocabulary& base)
    : slots_(base.slots().begin(), base.slots().end()),
      offsets_(base.offsets().begin(), base.offsets().end()),
      bytes_(base.bytes().begin(), base.bytes().end()) {}

std::uint32_t VocabularyBuilder::find(std::string_view token, std::uint64_t hash) const {
  return id_of(slots_[probe(slots_.data(), slots_.size(), offsets_.data(), bytes_.data(), token, hash)]);
}

std::uint32_t VocabularyBuilder::insert(std::string_view token, std::uint64_t hash) {
  const std::size_t at = probe(slots_.data(), slots_.size(), offsets_.data(), bytes_.data(), token, hash);
  if (slots_[at] != 0) return id_of(slots_[at]);
  if (size() >= Vocabulary::kMissing - 1) throw InputError("texts: more than 2^32 - 2 distinct terms");
  const std::uint32_t id = size();
  bytes_.insert(bytes_.end(), token.begin(), token.end());
  offsets_.push_back(bytes_.size());
  slots_[at] = slot_value(hash, id);
  if (2 * static_cast<std::size_t>(size()) > slots_.size()) grow();  // load <= 1/2 keeps probes short
  return id;
}

void VocabularyBuilder::grow() {
  std::vector<std::uint64_t> larger(slots_.size() * 2, 0);
  const std::size_t mask = larger.size() - 1;
  for (std::uint32_t id = 0; id < size(); ++id) {
    const std::uint64_t hash = hash_token(term(id));
    std::size_t at = hash & mask;
    while (larger[at] != 0) at = (at + 1) & mask;
    larger[at] = slot_value(hash, id);
  }
  slots_ = std::move(larger);
}

void VocabularyBuilder::clear() {
  std::fill(slots_.begin(), slots_.end(), 0);
  offsets_.assign(1, 0);
  bytes_.clear();
}

Vocabulary VocabularyBuilder::finish() && {
  offsets_.shrink_to_fit();
  bytes_.shrink_to_fit();
  return {Array<std::uint64_t>(std::move(slots_)), Array<std::uint64_t>(std::move(offsets_)),
          Array<char>(std::move(bytes_))};
}

}  // namespace sqe::bm25
