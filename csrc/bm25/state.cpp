#include "bm25/state.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <utility>

#include "util/error.hpp"
#include "util/threads.hpp"

namespace sqe::bm25 {
namespace {

// A term gets bitmaps where it is in at least one document of 64: they are then at most four times its
// postings, and few terms are that frequent.
constexpr std::uint32_t kBitmapShare = 64;
constexpr std::uint32_t kBitmapMinDocs = 256;

struct TermPeak {
  float max_weight;
  std::uint32_t frequent;
};

// The share of a frequent term's documents with a weight up to common_weight.
constexpr std::size_t kCommonPercent = 80;
constexpr std::size_t kSample = 256;

// A weight that about kCommonPercent of the postings do not pass, from a sample.
float common_weight(const Posting* begin, std::size_t count, const std::vector<float>& weights) {
  std::vector<float> sample;
  for (std::size_t i = 0; i < count; i += count / kSample + 1) {
    sample.push_back(weights[posting_code(begin[i])]);
  }
  const auto at = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() * kCommonPercent / 100);
  std::nth_element(sample.begin(), at, sample.end());
  return *at;
}

// Append an empty bitmap for the block's documents; returns its first word.
std::uint32_t add_bitmap(BlockView& view, std::uint32_t n_docs) {
  const std::size_t first = view.bitmaps.size();
  view.bitmaps.resize(first + (n_docs + 63) / 64, 0);
  return static_cast<std::uint32_t>(first);
}

void set_bit(BlockView& view, std::uint32_t first_word, std::uint32_t doc) {
  view.bitmaps[first_word + doc / 64] |= 1ULL << (doc % 64);
}

void add_frequent(BlockView& view, std::uint32_t n_docs, const Posting* begin, std::size_t count) {
  Frequent frequent{};
  frequent.common_weight = common_weight(begin, count, view.weights);
  frequent.holders = add_bitmap(view, n_docs);
  frequent.heavy = add_bitmap(view, n_docs);
  for (const Posting* p = begin; p < begin + count; ++p) {
    set_bit(view, frequent.holders, posting_doc(*p));
    if (view.weights[posting_code(*p)] > frequent.common_weight) {
      set_bit(view, frequent.heavy, posting_doc(*p));
    }
  }
  view.frequent.push_back(frequent);
}

// Running counts of the set bits of each bitmap.
void count_ranks(BlockView& view, std::uint32_t n_docs) {
  const std::size_t n_words = (n_docs + 63) / 64;
  view.ranks.resize(view.bitmaps.size());
  std::uint32_t rank = 0;
  for (std::size_t w = 0; w < view.bitmaps.size(); ++w) {
    if (w % n_words == 0) rank = 0;
    view.ranks[w] = static_cast<std::uint16_t>(rank);
    rank += static_cast<std::uint32_t>(std::popcount(view.bitmaps[w]));
  }
}

BlockView view_block(const Params& params, const Block& block, double mean_length, std::uint32_t first_row,
                     std::vector<TermPeak>& peaks) {
  BlockView view;
  view.first_row = first_row;
  view.weights.reserve(block.codes.size());
  for (const TfLength& pair : block.codes) {
    view.weights.push_back(static_cast<float>(weight(params, pair.tf, pair.length, mean_length)));
  }
  peaks.resize(block.terms.size());
  for (std::size_t t = 0; t < block.terms.size(); ++t) {
    const Posting* begin = block.postings.data() + block.starts[t];
    const std::size_t count = block.starts[t + 1] - block.starts[t];
    float peak = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < count; ++i) peak = std::max(peak, view.weights[posting_code(begin[i])]);
    peaks[t] = {peak, kRare};
    if (block.n_docs() < kBitmapMinDocs || count * kBitmapShare < block.n_docs()) continue;
    peaks[t].frequent = static_cast<std::uint32_t>(view.frequent.size());
    add_frequent(view, block.n_docs(), begin, count);
  }
  view.frequent.shrink_to_fit();
  view.bitmaps.shrink_to_fit();
  count_ranks(view, block.n_docs());
  return view;
}

// The mean idf over all terms, summed by ascending df so that the order of term ids does not matter.
double mean_idf(const State& state) {
  std::map<std::uint32_t, std::uint64_t> terms_with_df;
  for (const TermInfo& term : state.terms) {
    if (term.df > 0) ++terms_with_df[term.df];
  }
  double sum = 0;
  double count = 0;
  for (const auto& [df, n] : terms_with_df) {
    sum += static_cast<double>(n) * idf(state.params.variant, static_cast<double>(state.n_docs), df);
    count += static_cast<double>(n);
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

double State::idf(std::uint32_t term) const {
  const std::uint32_t df = terms[term].df;
  if (df == 0) return 0;
  const double value = bm25::idf(params.variant, static_cast<double>(n_docs), df);
  return params.variant == Variant::okapi && value < 0 ? floor_idf : value;
}

std::shared_ptr<const State> make_state(const Params& params, std::shared_ptr<const Vocabulary> vocabulary,
                                        std::vector<std::shared_ptr<const Block>> blocks, int threads) {
  auto state = std::make_shared<State>();
  state->params = params;
  state->vocabulary = std::move(vocabulary);
  state->blocks = std::move(blocks);

  std::vector<std::uint32_t> first_rows;
  std::uint64_t n_slices = 0;
  for (const auto& block : state->blocks) {
    first_rows.push_back(static_cast<std::uint32_t>(state->n_docs));
    state->n_docs += block->n_docs();
    for (std::uint32_t length : block->lengths) state->n_tokens += length;
    state->n_postings += block->postings.size();
    n_slices += block->terms.size();
  }
  if (state->n_docs > std::numeric_limits<std::int32_t>::max()) {
    throw InputError("texts: an index holds at most 2^31 - 1 documents; shard it");
  }
  if (n_slices > std::numeric_limits<std::uint32_t>::max()) {
    throw InputError("texts: too many distinct terms for one index; shard it");
  }

  state->views.resize(state->blocks.size());
  std::vector<std::vector<TermPeak>> peaks(state->blocks.size());
  parallel_for(state->blocks.size(), threads, [&](std::size_t b, int) {
    state->views[b] =
        view_block(state->params, *state->blocks[b], state->mean_length(), first_rows[b], peaks[b]);
  });

  // Slices by term, then by block: count, place, fill.
  const std::uint32_t n_terms = state->vocabulary->size();
  state->terms.assign(n_terms + 1, {0, 0, 0});
  for (const auto& block : state->blocks) {
    for (std::size_t t = 0; t < block->terms.size(); ++t) {
      TermInfo& info = state->terms[block->terms[t]];
      info.df += block->starts[t + 1] - block->starts[t];
      ++info.first_slice;
    }
  }
  std::uint32_t at = 0;
  for (TermInfo& info : state->terms) at += std::exchange(info.first_slice, at);
  state->slices.resize(n_slices);
  for (std::uint32_t b = 0; b < state->blocks.size(); ++b) {
    const Block& block = *state->blocks[b];
    for (std::size_t t = 0; t < block.terms.size(); ++t) {
      state->slices[state->terms[block.terms[t]].first_slice++] = {
          b, block.starts[t], block.starts[t + 1] - block.starts[t], peaks[b][t].max_weight,
          peaks[b][t].frequent};
    }
  }
  // Filling moved every first_slice to the next term's; move them back.
  std::uint32_t previous = 0;
  for (TermInfo& info : state->terms) previous = std::exchange(info.first_slice, previous);

  if (params.variant == Variant::okapi) state->floor_idf = params.epsilon * mean_idf(*state);
  for (std::uint32_t t = 0; t < n_terms; ++t) state->terms[t].idf = static_cast<float>(state->idf(t));
  return state;
}

std::uint64_t memory_bytes(const State& state) {
  const Vocabulary& vocabulary = *state.vocabulary;
  std::uint64_t bytes =
      vocabulary.slots().bytes() + vocabulary.offsets().bytes() + vocabulary.bytes().bytes();
  bytes += state.terms.capacity() * sizeof(TermInfo) + state.slices.capacity() * sizeof(Slice);
  for (const auto& block : state.blocks) {
    bytes += block->lengths.bytes() + block->codes.bytes() + block->terms.bytes() + block->starts.bytes() +
             block->postings.bytes();
  }
  for (const BlockView& view : state.views) {
    bytes += view.weights.capacity() * sizeof(float) + view.frequent.capacity() * sizeof(Frequent) +
             view.bitmaps.capacity() * sizeof(std::uint64_t) + view.ranks.capacity() * sizeof(std::uint16_t);
  }
  return bytes;
}

}  // namespace sqe::bm25
