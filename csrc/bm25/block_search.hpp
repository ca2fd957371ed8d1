// Searching one block of documents: exact top-k by MaxScore, term at a time.
//
// Lists are read rarest first. Once the lists left over cannot lift a new document to the threshold (a score
// that k documents are known to reach), only documents already touched can still matter; those that can are
// completed from the remaining, longest lists by looking them up. Blocks bound the working set (at most 256
// KiB of scores), and a group of queries passes each block together, so that its hot lists are read from
// cache.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "bm25/query.hpp"
#include "bm25/search_simd.hpp"
#include "bm25/state.hpp"
#include "bm25/top_k.hpp"

namespace sqe::bm25 {

// The postings of one query term in one block.
struct PostingList {
  std::uint32_t term;
  std::uint32_t occurrences;  // in the query
  const Posting* postings;
  std::uint32_t count;
  float factor;
  float bound;               // no document gets more from this list
  const Frequent* frequent;  // its bitmaps, or null
};

// A question to a bitmap: documents with their bit set may get `bound` more.
struct BitmapTest {
  std::uint32_t bitmap;
  float bound;
};

// One thread's search of one block after another, for one query after another.
class BlockSearch {
 public:
  explicit BlockSearch(const State& state)
      : state_(state),
        kernels_(SQE_DISPATCH(search_kernels)),
        scores_(kMaxBlockDocs, 0.0f),
        docs_(kMaxBlockDocs + 16) {}

  // Offer the documents of block `b` to `best`. Advances the query's cursors.
  void run(std::uint32_t b, Query& query, std::uint32_t k, TopK& best);

  // All scores of block `b` into `out` (n_docs zeros on entry). Advances the query's cursors.
  void rows(std::uint32_t b, Query& query, float* out);

 private:
  bool select_lists(std::uint32_t b, Query& query);

  // rest_[j]: what the lists from j on can add at most.
  void sum_bounds();

  double safe_threshold() const { return static_cast<double>(threshold_) * slack_; }
  bool unreachable(std::size_t j) const { return rest_[j] < safe_threshold(); }

  // The least score from which the lists from j on can reach the threshold; above 0.
  float cut(std::size_t j) const;

  // Read lists, rarest first, while a document not yet seen could still get in. Returns the first list not
  // read.
  std::size_t admit_documents();

  // Whether a better threshold is likely to save more than finding it costs, counted in postings read: about
  // 24 for each of the k documents in each list left, and going over the scores.
  bool worth_probing(std::size_t j) const;

  // Raise the threshold to a score that k documents surely reach: take the best by what has been read so far
  // (the lists before j) and look up the rest of their scores.
  void probe_threshold(std::size_t j);

  // A value above the threshold that at least k of the n values reach, and few more if bisection finds such a
  // one; 0 if there is none.
  float kth_floor(const float* values, std::uint32_t n);

  // What a list gives to one document.
  float look_up(const PostingList& list, std::uint32_t doc) const;

  // Complete the touched documents that can still reach the threshold from the lists from j on, and offer
  // them.
  void complete_candidates(std::size_t j);

  // Those of the documents seen that can reach the threshold by the lists from j on, to picked().
  std::uint32_t pick_from(std::size_t j);

  // What has been added up so far is a lower bound of a score.
  void raise_by_known_scores();

  const float* gather_touched();

  // Drop candidates by asking only which of the lists from j on hold them, and which heavily: the bits of a
  // bitmap are in cache, the posting behind them usually is not. Returns how many are left.
  std::uint32_t drop_by_bitmaps(std::size_t j, std::uint16_t* candidates, std::uint32_t n);

  void clear_scores();

  // Sums of lists of any sign, in double precision, with an explicit mark for "holds a term".
  void sum_in_double(std::uint32_t b);

  // Room for a selection of documents beside docs_.
  std::uint16_t* picked();

  const State& state_;
  const SearchKernels& kernels_;
  std::vector<float> scores_;        // of the block's documents; all 0 between runs
  std::vector<std::uint16_t> docs_;  // touched documents, unless dense_
  std::vector<std::uint16_t> picked_;
  std::vector<PostingList> lists_;
  std::vector<double> rest_;
  std::vector<float> values_;
  std::vector<float> folded_;
  std::vector<float> sums_of_candidates_;
  std::vector<BitmapTest> tests_;
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

}  // namespace sqe::bm25
