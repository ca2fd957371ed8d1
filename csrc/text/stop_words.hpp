// English function words that the `code` tokenizer leaves out. Verbs that name what code does (get, set, use)
// and words that tell one result from another (no, not, none) are not among them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sqe::text {

// Sorted, lower case, at most eight bytes each, so that a word is one comparison. "s" and "t" are what is
// left of "it's" and "don't".
inline constexpr std::string_view kStopWords[] = {
    "a",     "about",   "after", "again",   "all",     "also",   "am",    "an",     "and",   "any",   "are",
    "as",    "at",      "be",    "because", "been",    "being",  "both",  "but",    "by",    "can",   "could",
    "did",   "do",      "does",  "doing",   "done",    "during", "each",  "either", "few",   "for",   "from",
    "had",   "has",     "have",  "having",  "he",      "her",    "here",  "him",    "his",   "how",   "i",
    "if",    "in",      "into",  "is",      "it",      "its",    "just",  "may",    "me",    "might", "more",
    "most",  "must",    "my",    "nor",     "of",      "off",    "on",    "once",   "only",  "or",    "other",
    "our",   "out",     "over",  "own",     "s",       "shall",  "she",   "should", "so",    "some",  "such",
    "t",     "than",    "that",  "the",     "their",   "them",   "then",  "there",  "these", "they",  "this",
    "those", "through", "to",    "too",     "under",   "until",  "up",    "us",     "very",  "was",   "we",
    "were",  "what",    "when",  "where",   "whether", "which",  "while", "who",    "whom",  "whose", "why",
    "will",  "with",    "would", "you",     "your"};

namespace detail {

constexpr int kStopBits = 10;

constexpr std::size_t stop_slot(std::uint64_t key) {
  return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> (64 - kStopBits));
}

// Open addressing; a word's key is its bytes, first byte lowest, and no word has key 0.
constexpr auto stop_table() {
  std::array<std::uint64_t, std::size_t{1} << kStopBits> table{};
  for (const std::string_view word : kStopWords) {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < word.size(); ++i)
      key |= std::uint64_t(static_cast<unsigned char>(word[i])) << 8 * i;
    std::size_t slot = stop_slot(key);
    while (table[slot]) slot = (slot + 1) % table.size();
    table[slot] = key;
  }
  return table;
}

inline constexpr auto kStopTable = stop_table();

}  // namespace detail

// Whether the `length` bytes at `word` are a stop word; eight bytes at `word` must be readable.
inline bool is_stop_word(const char* word, std::size_t length) {
  static_assert(std::endian::native == std::endian::little, "keys are loaded as little-endian words");
  if (length == 0 || length > 8) return false;
  std::uint64_t key;
  std::memcpy(&key, word, sizeof key);
  key &= ~std::uint64_t{0} >> (64 - 8 * length);
  for (std::size_t slot = detail::stop_slot(key);; slot = (slot + 1) % detail::kStopTable.size()) {
    if (detail::kStopTable[slot] == key) return true;
    if (detail::kStopTable[slot] == 0) return false;
  }
}

}  // namespace sqe::text
