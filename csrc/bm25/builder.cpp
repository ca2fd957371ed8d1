#include "bm25/builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "util/error.hpp"
#include "util/hash.hpp"
#include "util/threads.hpp"

namespace sqe::bm25 {

namespace {

constexpr std::size_t kPieceDocs = 2048;
// A piece also ends at this many postings, so that long documents spread over the threads.
constexpr std::size_t kPiecePostings = 1u << 20;
constexpr std::uint32_t kSmallTf = 16;

struct Entry {
  std::uint32_t term;
  std::uint32_t code;
};

}  // namespace

struct Piece {
  std::vector<std::uint32_t> lengths;  // tokens of each document
  std::vector<std::uint32_t> n_terms;  // distinct terms of each document
  std::vector<Entry> entries;          // by document
  std::vector<std::uint32_t> n_docs;   // documents that hold each local term
  CodeTable codes;
  VocabularyBuilder local;            // emptied once the terms have global ids
  std::vector<std::uint32_t> global;  // local term -> global term
};

namespace {

// Turns documents into pieces; one of these works on one range of a chunk.
class PieceMaker {
 public:
  PieceMaker(std::vector<std::unique_ptr<Piece>>& out, std::size_t piece_docs)
      : out_(out), piece_docs_(piece_docs) {
    start();
  }

  void add(const text::TokenBuffer& tokens) {
    const std::uint32_t length = static_cast<std::uint32_t>(tokens.size());
    const std::size_t most_codes = most_distinct_tfs(length);
    if (most_codes > kMaxBlockCodes) {
      throw InputError("texts: a document has too many tokens (" + std::to_string(length) + "); split it");
    }
    Piece* piece = piece_;
    if (piece->lengths.size() == piece_docs_ || piece->entries.size() > kPiecePostings ||
        piece->codes.size() + most_codes > kMaxBlockCodes) {
      start();
      piece = piece_;
    }
    count_terms(tokens);
    std::fill(std::begin(small_tf_code_), std::end(small_tf_code_), kNoCode);
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      piece->entries.push_back({terms_[i], code_of(tfs_[i], length)});
      ++piece->n_docs[terms_[i]];
    }
    piece->lengths.push_back(length);
    piece->n_terms.push_back(static_cast<std::uint32_t>(terms_.size()));
  }

 private:
  static constexpr std::uint32_t kNoCode = std::numeric_limits<std::uint32_t>::max();

  // 1 + 2 + ... + x <= length bounds the number x of different term frequencies of a document.
  static std::size_t most_distinct_tfs(std::uint32_t length) {
    return static_cast<std::size_t>(std::sqrt(2.0 * length)) + 1;
  }

  void start() {
    out_.push_back(std::make_unique<Piece>());
    piece_ = out_.back().get();
    seen_.clear();
  }

  // Distinct local terms of the document in order of appearance, with their counts.
  void count_terms(const text::TokenBuffer& tokens) {
    terms_.clear();
    tfs_.clear();
    ++epoch_;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view token = tokens[i];
      const std::uint32_t term = piece_->local.insert(token, hash_token(token));
      if (term >= seen_.size()) {
        seen_.resize(term + 1, {0, 0});
        piece_->n_docs.resize(term + 1, 0);
      }
      Seen& seen = seen_[term];
      if (seen.epoch == epoch_) {
        ++tfs_[seen.at];
        continue;
      }
      seen = {epoch_, static_cast<std::uint32_t>(terms_.size())};
      terms_.push_back(term);
      tfs_.push_back(1);
    }
  }

  // The piece's code of (tf, length); small tf, nearly all, are looked up once a document.
  std::uint32_t code_of(std::uint32_t tf, std::uint32_t length) {
    if (tf >= kSmallTf) return piece_->codes.insert({tf, length});
    std::uint32_t& code = small_tf_code_[tf];
    if (code == kNoCode) code = piece_->codes.insert({tf, length});
    return code;
  }

  struct Seen {
    std::uint64_t epoch;
    std::uint32_t at;
  };

  std::vector<std::unique_ptr<Piece>>& out_;
  std::size_t piece_docs_;
  Piece* piece_ = nullptr;
  std::uint64_t epoch_ = 0;
  std::vector<Seen> seen_;  // by local term: where the current document has it
  std::vector<std::uint32_t> terms_;
  std::vector<std::uint32_t> tfs_;
  std::uint32_t small_tf_code_[kSmallTf] = {};  // of the current document
};

// Counting sort of the pieces' entries by term. Time: postings + size of the vocabulary.
std::shared_ptr<const Block> invert(std::vector<std::unique_ptr<Piece>>& pieces, CodeTable codes,
                                    std::uint32_t n_terms) {
  std::vector<std::uint32_t> cursor(n_terms, 0);
  std::size_t n_docs = 0;
  std::size_t n_postings = 0;
  for (const auto& piece : pieces) {
    for (std::size_t t = 0; t < piece->n_docs.size(); ++t) cursor[piece->global[t]] += piece->n_docs[t];
    n_docs += piece->lengths.size();
    n_postings += piece->entries.size();
  }
  std::vector<std::uint32_t> terms;
  std::vector<std::uint32_t> starts;
  std::uint32_t at = 0;
  for (std::uint32_t term = 0; term < n_terms; ++term) {
    const std::uint32_t count = cursor[term];
    if (count == 0) continue;
    terms.push_back(term);
    starts.push_back(at);
    cursor[term] = at;
    at += count;
  }
  starts.push_back(at);
  terms.shrink_to_fit();
  starts.shrink_to_fit();

  std::vector<std::uint32_t> lengths;
  lengths.reserve(n_docs);
  std::vector<Posting> postings(n_postings);
  std::vector<std::uint32_t> code_map;
  for (auto& piece : pieces) {
    code_map.clear();
    for (const TfLength& pair : piece->codes.codes()) code_map.push_back(codes.insert(pair));
    const Entry* entry = piece->entries.data();
    for (std::size_t i = 0; i < piece->lengths.size(); ++i) {
      const std::uint32_t doc = static_cast<std::uint32_t>(lengths.size());
      for (std::uint32_t t = 0; t < piece->n_terms[i]; ++t, ++entry) {
        postings[cursor[piece->global[entry->term]]++] = make_posting(doc, code_map[entry->code]);
      }
      lengths.push_back(piece->lengths[i]);
    }
    piece.reset();
  }

  return own_block(std::move(lengths), std::move(codes), std::move(terms), std::move(starts),
                   std::move(postings));
}

}  // namespace

Builder::Builder(const Vocabulary& base, std::uint32_t block_docs, int threads)
    : block_docs_(block_docs), threads_(threads), vocabulary_(base) {}
Builder::~Builder() = default;

void Builder::add(std::size_t count, const TokenSource& tokens) {
  const std::size_t n_ranges = (count + kPieceDocs - 1) / kPieceDocs;
  std::vector<std::vector<std::unique_ptr<Piece>>> ranges(n_ranges);
  std::vector<text::TokenBuffer> buffers(static_cast<std::size_t>(threads_));
  // Blocks completed by the chunk before are inverted beside this chunk's tokenisation.
  const std::uint32_t n_terms = vocabulary_.size();
  const std::size_t n_closed = closed_.size();
  std::vector<std::shared_ptr<const Block>> inverted(n_closed);
  parallel_for(n_closed + n_ranges, threads_, [&](std::size_t task, int slot) {
    if (task < n_closed) {
      inverted[task] = invert(closed_[task].pieces, std::move(closed_[task].codes), n_terms);
      return;
    }
    const std::size_t range = task - n_closed;
    PieceMaker maker(ranges[range], std::min<std::size_t>(kPieceDocs, block_docs_));
    text::TokenBuffer& buffer = buffers[static_cast<std::size_t>(slot)];
    for (std::size_t i = range * kPieceDocs; i < std::min(count, (range + 1) * kPieceDocs); ++i) {
      tokens(i, buffer);
      if (buffer.size() > std::numeric_limits<std::int32_t>::max()) {
        throw InputError("texts: a document has more than 2^31 - 1 tokens");
      }
      maker.add(buffer);
    }
    // Most terms are known already: look those up here, where threads work side by side.
    for (auto& piece : ranges[range]) {
      piece->global.resize(piece->local.size());
      for (std::uint32_t t = 0; t < piece->local.size(); ++t) {
        const std::string_view term = piece->local.term(t);
        piece->global[t] = vocabulary_.find(term, hash_token(term));
      }
    }
  });
  closed_.clear();
  for (auto& block : inverted) blocks_.push_back(std::move(block));

  for (auto& range : ranges) {
    for (auto& piece : range) {
      if (piece->lengths.empty()) continue;
      number_terms(*piece);
      CodeTable both = open_codes_;
      for (const TfLength& pair : piece->codes.codes()) both.insert(pair);
      if (open_docs_ + piece->lengths.size() > block_docs_ || both.size() > kMaxBlockCodes ||
          open_postings_ + piece->entries.size() > std::numeric_limits<std::uint32_t>::max()) {
        close_block();
        both = piece->codes;
      }
      open_codes_ = std::move(both);
      open_docs_ += piece->lengths.size();
      open_postings_ += piece->entries.size();
      open_.push_back(std::move(piece));
    }
  }
}

void Builder::number_terms(Piece& piece) {
  for (std::uint32_t t = 0; t < piece.local.size(); ++t) {
    if (piece.global[t] != Vocabulary::kMissing) continue;
    const std::string_view term = piece.local.term(t);
    piece.global[t] = vocabulary_.insert(term, hash_token(term));
  }
  piece.local = VocabularyBuilder();
}

void Builder::close_block() {
  if (open_.empty()) return;
  closed_.push_back({std::move(open_), std::move(open_codes_)});
  open_.clear();
  open_codes_ = CodeTable();
  open_docs_ = open_postings_ = 0;
}

void Builder::invert_closed() {
  const std::uint32_t n_terms = vocabulary_.size();
  std::vector<std::shared_ptr<const Block>> inverted(closed_.size());
  parallel_for(closed_.size(), threads_, [&](std::size_t i, int) {
    inverted[i] = invert(closed_[i].pieces, std::move(closed_[i].codes), n_terms);
  });
  closed_.clear();
  for (auto& block : inverted) blocks_.push_back(std::move(block));
}

std::vector<std::shared_ptr<const Block>> Builder::finish() {
  close_block();
  invert_closed();
  return std::move(blocks_);
}

}  // namespace sqe::bm25
