// Random corpora and the ways to feed them to an index.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bm25/builder.hpp"
#include "bm25/index.hpp"
#include "check.hpp"
#include "text/tokenizer.hpp"

namespace sqe::testing {

using Document = std::vector<std::string>;  // tokens
using Corpus = std::vector<Document>;

// Word numbers are skewed towards 0, as words of a language are.
inline std::string random_word(Random& random, std::size_t n_words) {
  const double u = random.unit();
  return "w" + std::to_string(static_cast<std::size_t>(u * u * u * static_cast<double>(n_words)));
}

// Lengths from 0 to twice the mean; now and then a word is said many times.
inline Corpus random_corpus(Random& random, std::size_t n_docs, std::size_t n_words,
                            std::size_t mean_length) {
  Corpus corpus(n_docs);
  for (Document& document : corpus) {
    const std::size_t length = random.below(2 * mean_length + 1);
    while (document.size() < length) {
      const std::string word = random_word(random, n_words);
      const std::size_t times = random.chance(40) ? random.from(2, 30) : 1;
      for (std::size_t i = 0; i < times; ++i) document.push_back(word);
    }
  }
  return corpus;
}

inline std::string joined(const Document& document) {
  std::string text;
  for (const std::string& token : document) text += token + ' ';
  return text;
}

// Texts in blocks of memory of just their size; must outlive the source.
class Texts {
 public:
  explicit Texts(const Corpus& corpus) {
    for (const Document& document : corpus) {
      const std::string text = joined(document);
      texts_.emplace_back(text.data(), text.size());
    }
  }

  std::size_t size() const { return texts_.size(); }

  bm25::TokenSource source(std::size_t first = 0) const {
    return [this, first](std::size_t i, text::TokenBuffer& out) {
      const Exact<char>& text = texts_[first + i];
      text::tokenize(text::TokenizerKind::whitespace, {text.data(), text.size(), 1, true}, out);
    };
  }

  // Everything, in chunks of `chunk`.
  bm25::Index::Feed feed(std::size_t chunk) const {
    return [this, chunk](bm25::Builder& builder) {
      for (std::size_t first = 0; first < size(); first += chunk) {
        builder.add(std::min(chunk, size() - first), source(first));
      }
    };
  }

 private:
  std::vector<Exact<char>> texts_;
};

}  // namespace sqe::testing
