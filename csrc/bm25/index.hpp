// The index as its users see it: a current snapshot that searches read and changes replace.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bm25/builder.hpp"
#include "bm25/params.hpp"
#include "bm25/state.hpp"

namespace sqe::bm25 {

// Safe to use from several threads: a search sees the snapshot current when it began; changes wait for each
// other.
class Index {
 public:
  // Feeds a builder until there is no more text; called once.
  using Feed = std::function<void(Builder&)>;

  static std::unique_ptr<Index> build(const Params& params, std::string tokenizer, const Feed& feed,
                                      int threads);
  static std::unique_ptr<Index> load(const std::string& path, int threads);
  void save(const std::string& path) const;

  // Append documents. The vocabulary is copied and the statistics are computed anew: time grows with the
  // index. On an exception the index is unchanged. InputError if the feed itself changes this index.
  void add(const Feed& feed, int threads);

  // Delete rows (ascending, distinct, within the index); the rows behind move up, as if the deleted had never
  // been.
  void remove(const std::vector<std::uint32_t>& rows, int threads);

  std::shared_ptr<const State> state() const;
  const std::string& tokenizer() const { return tokenizer_; }

 private:
  Index(std::shared_ptr<const State> state, std::string tokenizer);
  void replace(std::shared_ptr<const State> state);
  class Change;

  mutable std::mutex mutex_;                // guards state_
  std::mutex change_;                       // held by add and remove from start to end
  std::atomic<std::thread::id> changer_{};  // the thread that holds change_
  std::shared_ptr<const State> state_;
  std::string tokenizer_;
};

}  // namespace sqe::bm25
