#include "fusion/rows.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "fusion/row_kernels.hpp"
#include "fusion/top.hpp"

namespace sqe::fusion {
namespace {

constexpr std::size_t kBlock = 1024;  // documents whose sums are held at once: 8 KB

// One row's part in a sum: weight * ((x - centre) / spread); spread 0 marks equal scores, which add weight.
struct Scale {
  double centre, spread, weight;
};

// The best k of a stream of scores that arrives in row order. Candidates pile up to twice k, then the lower
// half goes and the k-th best becomes the floor for what follows: amortised O(1) a candidate.
class BestRows {
 public:
  explicit BestRows(std::size_t k)
      : k_(k), limit_(2 * k + kBlock), rows_(limit_ + kBlock), keys_(limit_ + kBlock) {}

  void clear() {
    held_ = 0;
    floor_ = -std::numeric_limits<double>::infinity();
  }

  // Take scores of rows first_row, first_row + 1, ...; an equal score of a later row loses.
  void offer(const double* scores, std::size_t n, std::size_t first_row, const RowKernels& kernels) {
    const std::size_t found = kernels.above(scores, n, floor_, picked_);
    for (std::size_t i = 0; i < found; ++i) {
      rows_[held_] = static_cast<std::uint32_t>(first_row + picked_[i]);
      keys_[held_++] = order_key(scores[picked_[i]]);
    }
    if (held_ >= limit_) cut();
  }

  // Rows best first; sets *order_keys to their keys.
  std::size_t finish(const std::uint32_t** rows, const std::uint64_t** order_keys) {
    cut();
    *rows = rows_.data();
    *order_keys = keys_.data();
    return held_;
  }

 private:
  void cut() {
    const std::size_t kept = std::min(k_, held_);
    const std::uint32_t* order = top_.select(keys_.data(), held_, kept);
    kept_rows_.resize(kept);
    kept_keys_.resize(kept);
    for (std::size_t i = 0; i < kept; ++i) {
      kept_rows_[i] = rows_[order[i]];
      kept_keys_[i] = keys_[order[i]];
    }
    std::copy(kept_rows_.begin(), kept_rows_.end(), rows_.begin());
    std::copy(kept_keys_.begin(), kept_keys_.end(), keys_.begin());
    held_ = kept;
    if (kept == k_) floor_ = number_of_key(kept_keys_[kept - 1]);
  }

  std::size_t k_, limit_, held_ = 0;
  double floor_ = 0.0;
  TopSelector top_;
  std::vector<std::uint32_t> rows_, kept_rows_;
  std::vector<std::uint64_t> keys_, kept_keys_;
  std::uint32_t picked_[kBlock];
};

[[noreturn]] void refuse_row(const ScoreRows& rows, std::size_t query, std::size_t list) {
  const float* row = rows.scores + (query * rows.lists + list) * rows.documents;
  const float* bad = std::find_if(row, row + rows.documents, [](float x) { return !(x - x == 0.0f); });
  throw InputError("rows must be finite; got " + std::to_string(*bad) + " at [" + std::to_string(query) +
                   ", " + std::to_string(list) + ", " + std::to_string(bad - row) + "]");
}

struct Scratch {
  explicit Scratch(std::size_t k) : best(k) {}
  BestRows best;
  std::vector<Scale> scales;
  double sums[kBlock];
};

}  // namespace

void fuse_rows(const ScoreRows& rows, const Weights& weights, Normalise how, int threads,
               const RankedRows& out) {
  const RowKernels& kernels = SQE_DISPATCH(row_kernels);
  const std::size_t width = std::min(out.k, rows.documents);
  std::vector<std::unique_ptr<Scratch>> scratches(static_cast<std::size_t>(threads));
  const std::size_t work = rows.lists * rows.documents;
  for_each_query(rows.queries, work, threads, [&](std::size_t query, int slot) {
    if (work == 0) return out.pad(query, 0);
    auto& scratch = scratches[static_cast<std::size_t>(slot)];
    if (!scratch) scratch = std::make_unique<Scratch>(width);
    scratch->scales.clear();
    for (std::size_t list = 0; list < rows.lists; ++list) {
      RowMoments moments;
      kernels.moments(rows.scores + (query * rows.lists + list) * rows.documents, rows.documents, &moments);
      if (!moments.finite) refuse_row(rows, query, list);
      const double weight = weights.of(query, list, rows.lists);
      const double low = moments.low, range = static_cast<double>(moments.high) - low;
      const bool zscore = how == Normalise::zscore;
      if (range > 0.0) {
        scratch->scales.push_back({zscore ? moments.mean : low, zscore ? moments.deviation : range, weight});
      } else {
        scratch->scales.push_back({0.0, 0.0, zscore ? 0.0 : weight});
      }
    }
    BestRows& best = scratch->best;
    best.clear();
    for (std::size_t first = 0; first < rows.documents; first += kBlock) {
      const std::size_t n = std::min(kBlock, rows.documents - first);
      double* sums = scratch->sums;
      std::fill(sums, sums + n, 0.0);
      for (std::size_t list = 0; list < rows.lists; ++list) {
        const Scale& scale = scratch->scales[list];
        if (scale.spread > 0.0) {
          const float* row = rows.scores + (query * rows.lists + list) * rows.documents + first;
          kernels.add_scaled(row, n, scale.centre, scale.spread, scale.weight, sums);
        } else {
          for (std::size_t i = 0; i < n; ++i) sums[i] += scale.weight;
        }
      }
      best.offer(sums, n, first, kernels);
    }
    const std::uint32_t* order;
    const std::uint64_t* keys;
    const std::size_t kept = best.finish(&order, &keys);
    for (std::size_t i = 0; i < kept; ++i) {
      out.ids[query * out.k + i] = static_cast<std::int32_t>(order[i]);
      out.scores[query * out.k + i] = static_cast<float>(number_of_key(keys[i]));
    }
    out.pad(query, kept);
  });
}

}  // namespace sqe::fusion
