// Exact top-k by MaxScore, term at a time within blocks of documents.
//
// Lists are read rarest first. Once the lists left over cannot lift a new document to the threshold (a score
// that k documents are known to reach), only documents already touched can still matter; those that can are
// completed from the remaining, longest lists by looking them up. Blocks bound the working set (at most 256
// KiB of scores), and a group of queries passes each block together, so that its hot lists are read from
// cache.
#include "bm25/search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "bm25/query.hpp"
#include "bm25/search_simd.hpp"
#include "bm25/top_k.hpp"
#include "util/threads.hpp"

namespace sqe::bm25 {
namespace {

constexpr std::size_t kGroup = 32;  // queries that pass the blocks together, at most

// Few queries are shared out among the threads, unless they are over sooner than another thread wakes up.
std::size_t group_size(const State& state, std::size_t count, int threads) {
  const std::size_t share =
      (count + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
  const std::size_t least = 200'000 / static_cast<std::size_t>(state.n_docs + 1) + 1;
  return std::min(kGroup, std::max(share, least));
}

// The least score of a document that holds a term. Not a subnormal number: a host program may have switched
// those off, and then everything would pass.
constexpr float kLeast = std::numeric_limits<float>::min();

// The postings of one query term in one block.
struct List {
  std::uint32_t term;
  std::uint32_t occurrences;  // in the query
  const Posting* postings;
  std::uint32_t count;
  float factor;
  float bound;               // no document gets more from this list
  const Frequent* frequent;  // its bitmaps, or null
};

// A question to a bitmap: documents with their bit set may get `bound` more.
struct Test {
  std::uint32_t bitmap;
  float bound;
};

class BlockSearch {
 public:
  explicit BlockSearch(const State& state)
      : state_(state),
        kernels_(SQE_DISPATCH(search_kernels)),
        scores_(kMaxBlockDocs, 0.0f),
        docs_(kMaxBlockDocs + 16) {}

  // Offer the documents of block `b` to `best`. Advances the query's cursors.
  void run(std::uint32_t b, Query& query, std::uint32_t k, TopK& best) {
    if (!select_lists(b, query)) return;
    block_ = state_.blocks[b].get();
    view_ = &state_.views[b];
    if (query.careful) {
      sum_in_double(b);
      for (std::uint32_t doc = 0; doc < block_->n_docs(); ++doc) {
        if (present_[doc]) best.push(static_cast<float>(sums_[doc]), view_->first_row + doc);
      }
      best.settle();
      return;
    }
    k_ = k;
    best_ = &best;
    n_docs_ = block_->n_docs();
    threshold_ = std::max(0.0f, best.threshold());
    sum_bounds();
    if (unreachable(0)) return;
    const std::size_t done = admit_documents();
    complete_candidates(done);
    clear_scores();
    best.settle();
  }

  // All scores of block `b` into `out` (n_docs zeros on entry). Advances the query's cursors.
  void rows(std::uint32_t b, Query& query, float* out) {
    if (!select_lists(b, query)) return;
    if (query.careful) {
      sum_in_double(b);
      for (std::size_t doc = 0; doc < sums_.size(); ++doc) {
        out[doc] = static_cast<float>(sums_[doc]) + 0.0f;  // -0 becomes 0, as in a rank key
      }
      return;
    }
    for (const List& list : lists_) {
      kernels_.accumulate(list.postings, list.count, state_.views[b].weights.data(), list.factor, out);
    }
  }

 private:
  bool select_lists(std::uint32_t b, Query& query) {
    lists_.clear();
    for (QueryTerm& term : query.terms) {
      if (term.next == term.end || term.next->block != b) continue;
      const Slice& slice = *term.next++;
      lists_.push_back({term.term, term.count, state_.blocks[b]->postings.data() + slice.start, slice.count,
                        term.factor, term.factor * slice.max_weight,
                        slice.frequent == kRare ? nullptr : &state_.views[b].frequent[slice.frequent]});
    }
    return !lists_.empty();
  }

  // rest_[j]: what the lists from j on can add at most.
  void sum_bounds() {
    const std::size_t m = lists_.size();
    rest_.assign(m + 1, 0.0);
    for (std::size_t j = m; j-- > 0;) rest_[j] = rest_[j + 1] + lists_[j].bound;
    // A float sum of m terms is off by less than m * 2^-24 of itself: lower the threshold by twice that.
    slack_ = 1.0 - static_cast<double>(m + 4) * 1.2e-7;
  }

  double safe_threshold() const { return static_cast<double>(threshold_) * slack_; }
  bool unreachable(std::size_t j) const { return rest_[j] < safe_threshold(); }

  // The least score from which the lists from j on can reach the threshold; above 0.
  float cut(std::size_t j) const {
    const double value = safe_threshold() - rest_[j];
    return std::max(kLeast, std::nextafter(static_cast<float>(value), 0.0f));
  }

  // Read lists, rarest first, while a document not yet seen could still get in. Returns the first list not
  // read.
  std::size_t admit_documents() {
    n_touched_ = 0;
    n_read_ = 0;
    read_at_probe_ = 0;
    dense_ = false;
    std::size_t j = 0;
    for (; j < lists_.size() && !unreachable(j); ++j) {
      if (worth_probing(j)) {
        probe_threshold(j);
        if (unreachable(j)) break;
      }
      const List& list = lists_[j];
      // With a share of the block touched, going over all scores is cheaper than keeping a list.
      if (!dense_ && n_touched_ + list.count > n_docs_ / 8) dense_ = true;
      if (dense_) {
        kernels_.accumulate(list.postings, list.count, view_->weights.data(), list.factor, scores_.data());
      } else {
        n_touched_ = kernels_.accumulate_touching(list.postings, list.count, view_->weights.data(),
                                                  list.factor, scores_.data(), docs_.data(), n_touched_);
      }
      n_read_ += list.count;
    }
    return j;
  }

  // Whether a better threshold is likely to save more than finding it costs. In postings: a look-up is about
  // eight.
  bool worth_probing(std::size_t j) const {
    if (best_->threshold() > 0 || n_read_ < k_) return false;  // earlier blocks have given a good one
    const std::size_t cost =
        12 * static_cast<std::size_t>(k_) * (lists_.size() - j) + (dense_ ? n_docs_ / 2 : n_touched_);
    const std::size_t next = lists_[j].count;
    return 2 * next > cost || (n_read_ - read_at_probe_ > cost && 4 * next > cost);
  }

  // Raise the threshold to a score that k documents surely reach: take the best by what has been read so far
  // (the lists before j) and look up the rest of their scores.
  void probe_threshold(std::size_t j) {
    read_at_probe_ = n_read_;
    const float* values = scores_.data();
    std::uint32_t n = n_docs_;
    if (!dense_) {
      if (n_touched_ < k_) return;
      values = gather_touched();
      n = n_touched_;
    }
    const float floor = kth_floor(values, n);
    if (!(floor > 0)) return;
    std::uint16_t* docs = picked();
    n = dense_ ? kernels_.scan(scores_.data(), n_docs_, floor, docs)
               : kernels_.filter(scores_.data(), docs_.data(), n_touched_, floor, docs);
    values_.clear();
    for (std::uint32_t i = 0; i < std::min(n, 2 * k_ + 8); ++i) {
      float score = scores_[docs[i]];
      for (std::size_t l = j; l < lists_.size(); ++l) score += look_up(lists_[l], docs[i]);
      values_.push_back(score);
    }
    std::nth_element(values_.begin(), values_.begin() + (k_ - 1), values_.end(), std::greater<>());
    threshold_ = std::max(threshold_, values_[k_ - 1]);
  }

  // A value above the threshold that at least k of the n values reach, and few more if bisection finds such a
  // one; 0 if there is none.
  float kth_floor(const float* values, std::uint32_t n) {
    // Folding leaves one value of each of m groups, most of the best among them, after a single pass.
    const std::size_t m = 16 * static_cast<std::size_t>(k_) + 96;
    if (n > 2 * m) {
      folded_.resize(m);
      kernels_.fold(values, n, static_cast<std::uint32_t>(m), folded_.data());
      values = folded_.data();
      n = static_cast<std::uint32_t>(m);
    }
    float low = std::max(kLeast, threshold_);
    float high = kernels_.largest(values, n);
    if (!(high > low) || kernels_.count_from(values, n, low) < k_) return 0;
    for (int step = 0; step < 10; ++step) {
      const float middle = low + (high - low) / 2;
      const std::uint32_t count = kernels_.count_from(values, n, middle);
      (count >= k_ ? low : high) = middle;
      if (count >= k_ && count <= k_ + k_ / 4 + 2) break;
    }
    return low;
  }

  // What a list gives to one document.
  float look_up(const List& list, std::uint32_t doc) const {
    const Posting* p;
    if (list.frequent) {
      const std::uint32_t word = list.frequent->holders + doc / 64;
      const std::uint64_t below = view_->bitmaps[word]
                                  << (63 - doc % 64);  // the document's bit ends up on top
      if ((below >> 63) == 0) return 0;
      p = list.postings + view_->ranks[word] + std::popcount(below) - 1;
    } else {
      p = list.postings;
      for (std::uint32_t n = list.count; n > 1;) {  // the last posting not behind doc, without branches
        const std::uint32_t half = n / 2;
        p += posting_doc(p[half]) <= doc ? half : 0;
        n -= half;
      }
      if (posting_doc(*p) != doc) return 0;
    }
    return list.factor * view_->weights[posting_code(*p)];
  }

  // Complete the touched documents that can still reach the threshold from the lists from j on, and offer
  // them.
  void complete_candidates(std::size_t j) {
    raise_by_known_scores();
    std::uint16_t* candidates = picked();
    std::uint32_t n = pick_from(j);
    // While most of the block is still in, reading on is cheaper than looking up.
    while (dense_ && j < lists_.size() && n > 8 && lists_[j].count < 2 * n) {
      for (std::size_t read = 0; j < lists_.size() && lists_[j].count < 2 * n && read < 2 * n; ++j) {
        const List& list = lists_[j];
        kernels_.accumulate(list.postings, list.count, view_->weights.data(), list.factor, scores_.data());
        read += list.count;
      }
      raise_by_known_scores();
      n = pick_from(j);
    }
    if (j < lists_.size() && n > 8) n = drop_by_bitmaps(j, candidates, n);
    for (; j < lists_.size() && n > 0; ++j) {
      const List& list = lists_[j];
      // In postings read in a row, a look-up costs about four in a bitmap and twelve by bisection.
      if (n < list.count / (list.frequent ? 4 : 12)) {
        for (std::uint32_t i = 0; i < n; ++i) scores_[candidates[i]] += look_up(list, candidates[i]);
      } else if (dense_) {
        kernels_.accumulate(list.postings, list.count, view_->weights.data(), list.factor, scores_.data());
      } else {
        kernels_.accumulate_present(list.postings, list.count, view_->weights.data(), list.factor,
                                    scores_.data());
      }
      n = kernels_.filter(scores_.data(), candidates, n, cut(j + 1), candidates);
    }
    const std::uint32_t first_row = view_->first_row;
    for (std::uint32_t i = 0; i < n; ++i) best_->push(scores_[candidates[i]], first_row + candidates[i]);
  }

  // Those of the documents seen that can reach the threshold by the lists from j on, to picked().
  std::uint32_t pick_from(std::size_t j) {
    return dense_ ? kernels_.scan(scores_.data(), n_docs_, cut(j), picked())
                  : kernels_.filter(scores_.data(), docs_.data(), n_touched_, cut(j), picked());
  }

  // What has been added up so far is a lower bound of a score.
  void raise_by_known_scores() {
    if (dense_) {
      threshold_ = std::max(threshold_, kth_floor(scores_.data(), n_docs_));
    } else if (n_touched_ > 4 * k_) {
      threshold_ = std::max(threshold_, kth_floor(gather_touched(), n_touched_));
    }
  }

  const float* gather_touched() {
    values_.resize(n_touched_);
    kernels_.gather(scores_.data(), docs_.data(), n_touched_, values_.data());
    return values_.data();
  }

  // Drop candidates by asking only which of the lists from j on hold them, and which heavily: the bits of a
  // bitmap are in cache, the posting behind them usually is not. Returns how many are left.
  std::uint32_t drop_by_bitmaps(std::size_t j, std::uint16_t* candidates, std::uint32_t n) {
    tests_.clear();
    for (std::size_t l = j; l < lists_.size(); ++l) {
      const List& list = lists_[l];
      if (!list.frequent) continue;
      const float common = list.factor * list.frequent->common_weight;
      tests_.push_back({list.frequent->holders, common});
      tests_.push_back({list.frequent->heavy, list.bound - common});
    }
    std::sort(tests_.begin(), tests_.end(), [](const Test& a, const Test& b) { return a.bound > b.bound; });
    sums_of_candidates_.resize(n + 16);
    kernels_.gather(scores_.data(), candidates, n, sums_of_candidates_.data());
    // These sums are made in another order and over bounds: allow for the rounding of all of them.
    double unknown = rest_[j] * (3 - 2 * slack_);
    for (const Test& test : tests_) {
      if (n <= 8) break;
      unknown -= test.bound;
      const double least = safe_threshold() - unknown;
      n = kernels_.bound_by_bitmap(view_->bitmaps.data() + test.bitmap, test.bound, static_cast<float>(least),
                                   candidates, sums_of_candidates_.data(), n);
    }
    return n;
  }

  void clear_scores() {
    if (dense_) {
      std::fill_n(scores_.begin(), n_docs_, 0.0f);
    } else {
      for (std::uint32_t i = 0; i < n_touched_; ++i) scores_[docs_[i]] = 0.0f;
    }
  }

  // Sums of lists of any sign, in double precision, with an explicit mark for "holds a term".
  void sum_in_double(std::uint32_t b) {
    const Block& block = *state_.blocks[b];
    const auto weight_of = [&](const TfLength& pair) {
      return weight(state_.params, pair.tf, pair.length, state_.mean_length());
    };
    std::size_t n_postings = 0;
    for (const List& list : lists_) n_postings += list.count;
    // A table pays where it is shorter than the lists; the queries of a group share it.
    if (weights_block_ != b && n_postings > block.codes.size()) {
      weights_.clear();
      for (const TfLength& pair : block.codes) weights_.push_back(weight_of(pair));
      weights_block_ = b;
    }
    const double* const table = weights_block_ == b ? weights_.data() : nullptr;
    sums_.assign(block.n_docs(), 0.0);
    present_.assign(block.n_docs(), 0);
    for (const List& list : lists_) {
      const double factor = state_.idf(list.term) * list.occurrences;
      for (const Posting* p = list.postings; p < list.postings + list.count; ++p) {
        const std::uint32_t code = posting_code(*p);
        sums_[posting_doc(*p)] += factor * (table ? table[code] : weight_of(block.codes[code]));
        present_[posting_doc(*p)] = 1;
      }
    }
  }

  // Room for a selection of documents beside docs_.
  std::uint16_t* picked() {
    if (picked_.empty()) picked_.resize(kMaxBlockDocs + 16);
    return picked_.data();
  }

  const State& state_;
  const SearchKernels& kernels_;
  std::vector<float> scores_;        // of the block's documents; all 0 between runs
  std::vector<std::uint16_t> docs_;  // touched documents, unless dense_
  std::vector<std::uint16_t> picked_;
  std::vector<List> lists_;
  std::vector<double> rest_;
  std::vector<float> values_;
  std::vector<float> folded_;
  std::vector<float> sums_of_candidates_;
  std::vector<Test> tests_;
  std::vector<double> weights_;  // by code, of block weights_block_
  std::uint32_t weights_block_ = std::numeric_limits<std::uint32_t>::max();
  std::vector<double> sums_;
  std::vector<std::uint8_t> present_;

  // Of the block and query in hand.
  const Block* block_ = nullptr;
  const BlockView* view_ = nullptr;
  TopK* best_ = nullptr;
  std::uint32_t k_ = 0;
  std::uint32_t n_docs_ = 0;
  std::uint32_t n_touched_ = 0;
  std::size_t n_read_ = 0;         // postings
  std::size_t read_at_probe_ = 0;  // of them, when the threshold was last probed
  bool dense_ = false;
  float threshold_ = 0;
  double slack_ = 1;
};

// What one thread needs; made when the thread takes its first group.
struct Scratch {
  explicit Scratch(const State& state) : search(state), queries(kGroup), best(kGroup) {}
  BlockSearch search;
  std::vector<Query> queries;
  std::vector<TopK> best;
  text::TokenBuffer tokens;
};

}  // namespace

void search(const State& state, std::size_t count, const TokenSource& queries, std::uint32_t k, int threads,
            std::int32_t* ids, float* scores) {
  const std::size_t size = group_size(state, count, threads);
  const std::size_t n_groups = (count + size - 1) / size;
  std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(threads));
  parallel_for(n_groups, threads, [&](std::size_t group, int slot) {
    auto& own = scratch[static_cast<std::size_t>(slot)];
    if (!own) own = std::make_unique<Scratch>(state);
    const std::size_t first = group * size;
    const std::size_t n = std::min(size, count - first);
    for (std::size_t i = 0; i < n; ++i) {
      queries(first + i, own->tokens);
      make_query(state, own->tokens, own->queries[i]);
      own->best[i].reset(k);
    }
    for (std::uint32_t b = 0; b < state.blocks.size(); ++b) {
      for (std::size_t i = 0; i < n; ++i) own->search.run(b, own->queries[i], k, own->best[i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      own->best[i].finish(ids + (first + i) * k, scores + (first + i) * k);
    }
  });
}

void score_rows(const State& state, std::size_t count, const TokenSource& queries, int threads, float* rows) {
  std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(threads));
  parallel_for(count, threads, [&](std::size_t i, int slot) {
    auto& own = scratch[static_cast<std::size_t>(slot)];
    if (!own) own = std::make_unique<Scratch>(state);
    float* row = rows + i * state.n_docs;
    std::fill_n(row, state.n_docs, 0.0f);
    queries(i, own->tokens);
    make_query(state, own->tokens, own->queries[0]);
    for (std::uint32_t b = 0; b < state.blocks.size(); ++b) {
      own->search.rows(b, own->queries[0], row + state.views[b].first_row);
    }
  });
}

}  // namespace sqe::bm25
