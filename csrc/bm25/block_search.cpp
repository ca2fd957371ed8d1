#include "bm25/block_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace sqe::bm25 {
namespace {

// The least score of a document that holds a term. Not a subnormal number: a host program may have switched
// those off, and then everything would pass.
constexpr float kLeast = std::numeric_limits<float>::min();

// From this many lists on, their count is a sign that bounds are loose.
constexpr std::size_t kManyLists = 16;

}  // namespace

void BlockSearch::run(std::uint32_t b, Query& query, std::uint32_t k, TopK& best) {
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

void BlockSearch::rows(std::uint32_t b, Query& query, float* out) {
  if (!select_lists(b, query)) return;
  if (query.careful) {
    sum_in_double(b);
    for (std::size_t doc = 0; doc < sums_.size(); ++doc) {
      out[doc] = static_cast<float>(sums_[doc]) + 0.0f;  // -0 becomes 0, as in a rank key
    }
    return;
  }
  for (const PostingList& list : lists_) {
    kernels_.accumulate(list.postings, list.count, state_.views[b].weights.data(), list.factor, out);
  }
}

bool BlockSearch::select_lists(std::uint32_t b, Query& query) {
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

void BlockSearch::sum_bounds() {
  const std::size_t m = lists_.size();
  rest_.assign(m + 1, 0.0);
  for (std::size_t j = m; j-- > 0;) rest_[j] = rest_[j + 1] + lists_[j].bound;
  // A float sum of m terms is off by less than m * 2^-24 of itself: lower the threshold by twice that.
  slack_ = 1.0 - static_cast<double>(m + 4) * 1.2e-7;
}

float BlockSearch::cut(std::size_t j) const {
  const double value = safe_threshold() - rest_[j];
  return std::max(kLeast, std::nextafter(static_cast<float>(value), 0.0f));
}

std::size_t BlockSearch::admit_documents() {
  n_touched_ = 0;
  n_read_ = 0;
  read_at_probe_ = 0;
  std::size_t n_postings = 0;
  for (const PostingList& list : lists_) n_postings += list.count;
  // Many lists with little in them: reading all is over before pruning pays (measured).
  const bool plain = n_postings <= 4 * static_cast<std::size_t>(n_docs_) && lists_.size() >= kManyLists;
  dense_ = plain;
  std::size_t j = 0;
  for (; j < lists_.size() && !unreachable(j); ++j) {
    if (!plain && worth_probing(j)) {
      probe_threshold(j);
      if (unreachable(j)) break;
    }
    const PostingList& list = lists_[j];
    // With a share of the block touched, going over all scores is cheaper than keeping a list.
    if (!dense_ && n_touched_ + list.count > n_docs_ / 8) dense_ = true;
    if (dense_) {
      kernels_.accumulate(list.postings, list.count, view_->weights.data(), list.factor, scores_.data());
    } else {
      n_touched_ = kernels_.accumulate_touching(list.postings, list.count, view_->weights.data(), list.factor,
                                                scores_.data(), docs_.data(), n_touched_);
    }
    n_read_ += list.count;
  }
  return j;
}

bool BlockSearch::worth_probing(std::size_t j) const {
  if (best_->threshold() > 0 || n_read_ < k_) return false;  // earlier blocks have given a good one
  const std::size_t cost =
      24 * static_cast<std::size_t>(k_) * (lists_.size() - j) + (dense_ ? n_docs_ / 2 : n_touched_);
  const std::size_t next = lists_[j].count;
  return 2 * next > cost || (n_read_ - read_at_probe_ > cost && 4 * next > cost);
}

void BlockSearch::probe_threshold(std::size_t j) {
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

float BlockSearch::kth_floor(const float* values, std::uint32_t n) {
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

float BlockSearch::look_up(const PostingList& list, std::uint32_t doc) const {
  const Posting* p;
  if (list.frequent) {
    const std::uint32_t word = list.frequent->holders + doc / 64;
    const std::uint64_t below = view_->bitmaps[word] << (63 - doc % 64);  // the document's bit ends up on top
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

void BlockSearch::complete_candidates(std::size_t j) {
  if (read_at_probe_ != n_read_) raise_by_known_scores();
  std::uint16_t* candidates = picked();
  std::uint32_t n;
  if (dense_) {
    // While most of the block is still in, reading on is cheaper than looking up.
    n = kernels_.count_from(scores_.data(), n_docs_, cut(j));
    while (j < lists_.size() && n > 8 && lists_[j].count < 2 * n) {
      for (std::size_t read = 0; j < lists_.size() && lists_[j].count < 2 * n && read < 2 * n; ++j) {
        const PostingList& list = lists_[j];
        kernels_.accumulate(list.postings, list.count, view_->weights.data(), list.factor, scores_.data());
        read += list.count;
      }
      raise_by_known_scores();
      n = kernels_.count_from(scores_.data(), n_docs_, cut(j));
    }
  }
  n = pick_from(j);
  if (j < lists_.size() && n > 8) n = drop_by_bitmaps(j, candidates, n);
  for (; j < lists_.size() && n > 0; ++j) {
    const PostingList& list = lists_[j];
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

std::uint32_t BlockSearch::pick_from(std::size_t j) {
  return dense_ ? kernels_.scan(scores_.data(), n_docs_, cut(j), picked())
                : kernels_.filter(scores_.data(), docs_.data(), n_touched_, cut(j), picked());
}

void BlockSearch::raise_by_known_scores() {
  if (dense_) {
    threshold_ = std::max(threshold_, kth_floor(scores_.data(), n_docs_));
  } else if (n_touched_ > 4 * k_) {
    threshold_ = std::max(threshold_, kth_floor(gather_touched(), n_touched_));
  }
}

const float* BlockSearch::gather_touched() {
  values_.resize(n_touched_);
  kernels_.gather(scores_.data(), docs_.data(), n_touched_, values_.data());
  return values_.data();
}

std::uint32_t BlockSearch::drop_by_bitmaps(std::size_t j, std::uint16_t* candidates, std::uint32_t n) {
  tests_.clear();
  for (std::size_t l = j; l < lists_.size(); ++l) {
    const PostingList& list = lists_[l];
    if (!list.frequent) continue;
    const float common = list.factor * list.frequent->common_weight;
    tests_.push_back({list.frequent->holders, common});
    tests_.push_back({list.frequent->heavy, list.bound - common});
  }
  std::sort(tests_.begin(), tests_.end(),
            [](const BitmapTest& a, const BitmapTest& b) { return a.bound > b.bound; });
  sums_of_candidates_.resize(n + 16);
  kernels_.gather(scores_.data(), candidates, n, sums_of_candidates_.data());
  // These sums are made in another order and over bounds: allow for the rounding of all of them.
  double unknown = rest_[j] * (3 - 2 * slack_);
  for (const BitmapTest& test : tests_) {
    if (n <= 8) break;
    unknown -= test.bound;
    const double least = safe_threshold() - unknown;
    n = kernels_.bound_by_bitmap(view_->bitmaps.data() + test.bitmap, test.bound, static_cast<float>(least),
                                 candidates, sums_of_candidates_.data(), n);
  }
  return n;
}

void BlockSearch::clear_scores() {
  if (dense_) {
    std::fill_n(scores_.begin(), n_docs_, 0.0f);
  } else {
    for (std::uint32_t i = 0; i < n_touched_; ++i) scores_[docs_[i]] = 0.0f;
  }
}

void BlockSearch::sum_in_double(std::uint32_t b) {
  const Block& block = *state_.blocks[b];
  const auto weight_of = [&](const TfLength& pair) {
    return weight(state_.params, pair.tf, pair.length, state_.mean_length());
  };
  std::size_t n_postings = 0;
  for (const PostingList& list : lists_) n_postings += list.count;
  // A table pays where it is shorter than the lists; the queries of a group share it.
  if (weights_block_ != b && n_postings > block.codes.size()) {
    weights_.clear();
    for (const TfLength& pair : block.codes) weights_.push_back(weight_of(pair));
    weights_block_ = b;
  }
  const double* const table = weights_block_ == b ? weights_.data() : nullptr;
  sums_.assign(block.n_docs(), 0.0);
  present_.assign(block.n_docs(), 0);
  for (const PostingList& list : lists_) {
    const double factor = state_.idf(list.term) * list.occurrences;
    for (const Posting* p = list.postings; p < list.postings + list.count; ++p) {
      const std::uint32_t code = posting_code(*p);
      sums_[posting_doc(*p)] += factor * (table ? table[code] : weight_of(block.codes[code]));
      present_[posting_doc(*p)] = 1;
    }
  }
}

std::uint16_t* BlockSearch::picked() {
  if (picked_.empty()) picked_.resize(kMaxBlockDocs + 16);
  return picked_.data();
}

}  // namespace sqe::bm25
