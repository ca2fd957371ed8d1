#include "bm25/block.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace sqe::bm25 {
namespace {

constexpr std::uint32_t kGone = std::numeric_limits<std::uint32_t>::max();

// What is left of a part: new numbers of its documents and the codes they use.
struct Kept {
  const Block* block;
  std::vector<std::uint32_t> new_doc;  // kGone for a dropped document
  std::vector<bool> used;              // by code
  std::uint32_t n_docs = 0;
  std::uint64_t n_postings = 0;
};

Kept keep_of(const BlockPart& part) {
  Kept kept;
  kept.block = part.block.get();
  const std::uint32_t n = part.block->n_docs();
  kept.new_doc.resize(n);
  for (std::uint32_t d = 0; d < n; ++d) {
    kept.new_doc[d] = part.keep.empty() || part.keep[d] ? kept.n_docs++ : kGone;
  }
  kept.used.assign(part.block->codes.size(), false);
  for (Posting p : part.block->postings) {
    if (kept.new_doc[posting_doc(p)] == kGone) continue;
    kept.used[posting_code(p)] = true;
    ++kept.n_postings;
  }
  return kept;
}

// The next term of a part that is not yet copied.
struct Cursor {
  std::uint32_t at = 0;
  std::uint32_t first_doc = 0;  // of the part's documents in the new block
  std::vector<std::uint32_t> code_map;
};

std::shared_ptr<const Block> join(const std::vector<Kept>& parts) {
  CodeTable codes;
  std::vector<Cursor> cursors(parts.size());
  std::vector<std::uint32_t> lengths;
  std::uint64_t n_postings = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Kept& part = parts[i];
    cursors[i].first_doc = static_cast<std::uint32_t>(lengths.size());
    cursors[i].code_map.assign(part.used.size(), 0);
    for (std::uint32_t c = 0; c < part.used.size(); ++c) {
      if (part.used[c]) cursors[i].code_map[c] = codes.insert(part.block->codes[c]);
    }
    for (std::uint32_t d = 0; d < part.block->n_docs(); ++d) {
      if (part.new_doc[d] != kGone) lengths.push_back(part.block->lengths[d]);
    }
    n_postings += part.n_postings;
  }

  std::vector<std::uint32_t> terms;
  std::vector<std::uint32_t> starts;
  std::vector<Posting> postings;
  postings.reserve(n_postings);
  for (;;) {
    std::uint32_t term = kGone;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Array<std::uint32_t>& own = parts[i].block->terms;
      if (cursors[i].at < own.size()) term = std::min(term, own[cursors[i].at]);
    }
    if (term == kGone) break;
    const std::size_t before = postings.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Cursor& cursor = cursors[i];
      const Block& block = *parts[i].block;
      if (cursor.at == block.terms.size() || block.terms[cursor.at] != term) continue;
      for (std::uint32_t at = block.starts[cursor.at]; at < block.starts[cursor.at + 1]; ++at) {
        const Posting p = block.postings[at];
        const std::uint32_t doc = parts[i].new_doc[posting_doc(p)];
        if (doc == kGone) continue;
        postings.push_back(make_posting(cursor.first_doc + doc, cursor.code_map[posting_code(p)]));
      }
      ++cursor.at;
    }
    if (postings.size() == before) continue;
    terms.push_back(term);
    starts.push_back(static_cast<std::uint32_t>(before));
  }
  starts.push_back(static_cast<std::uint32_t>(postings.size()));

  return own_block(std::move(lengths), std::move(codes), std::move(terms), std::move(starts),
                   std::move(postings));
}

}  // namespace

std::shared_ptr<const Block> own_block(std::vector<std::uint32_t> lengths, CodeTable codes,
                                       std::vector<std::uint32_t> terms, std::vector<std::uint32_t> starts,
                                       std::vector<Posting> postings) {
  auto block = std::make_shared<Block>();
  block->lengths = Array<std::uint32_t>(std::move(lengths));
  block->codes = Array<TfLength>(std::move(codes).take());
  block->terms = Array<std::uint32_t>(std::move(terms));
  block->starts = Array<std::uint32_t>(std::move(starts));
  block->postings = Array<Posting>(std::move(postings));
  return block;
}

CodeTable::CodeTable() : slots_(256, 0) {}

std::uint32_t CodeTable::insert(TfLength pair) {
  const auto home = [this](std::uint64_t key) {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> 32) & (slots_.size() - 1);
  };
  std::size_t at = home(pair.key());
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    if (codes_[slots_[at] - 1].key() == pair.key()) return slots_[at] - 1;
  }
  const std::uint32_t code = size();
  codes_.push_back(pair);
  slots_[at] = code + 1;
  if (2 * codes_.size() > slots_.size()) {
    slots_.assign(slots_.size() * 2, 0);
    for (std::uint32_t c = 0; c < size(); ++c) {
      std::size_t slot = home(codes_[c].key());
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = c + 1;
    }
  }
  return code;
}

std::vector<std::shared_ptr<const Block>> join_blocks(const std::vector<BlockPart>& parts,
                                                      std::uint32_t block_docs) {
  std::vector<std::shared_ptr<const Block>> blocks;
  std::vector<Kept> group;
  const BlockPart* only = nullptr;  // the part of a group of one
  CodeTable codes;
  std::uint64_t n_docs = 0;
  std::uint64_t n_postings = 0;

  const auto flush = [&] {
    if (group.empty()) return;
    const bool whole = group.size() == 1 && group[0].n_docs == group[0].block->n_docs();
    blocks.push_back(whole ? only->block : join(group));
    group.clear();
    codes = CodeTable();
    n_docs = n_postings = 0;
  };

  for (const BlockPart& part : parts) {
    Kept kept = keep_of(part);
    if (kept.n_docs == 0) continue;
    const auto add_codes = [&kept](CodeTable& table) {
      for (std::uint32_t c = 0; c < kept.used.size(); ++c) {
        if (kept.used[c]) table.insert(kept.block->codes[c]);
      }
    };
    CodeTable both = codes;
    add_codes(both);
    if (n_docs + kept.n_docs > block_docs || both.size() > kMaxBlockCodes ||
        n_postings + kept.n_postings > std::numeric_limits<std::uint32_t>::max()) {
      flush();
      both = CodeTable();
      add_codes(both);
    }
    codes = std::move(both);
    n_docs += kept.n_docs;
    n_postings += kept.n_postings;
    group.push_back(std::move(kept));
    only = &part;
  }
  flush();
  return blocks;
}

}  // namespace sqe::bm25
