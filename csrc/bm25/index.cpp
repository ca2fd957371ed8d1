#include "bm25/index.hpp"

#include <utility>

#include "bm25/file.hpp"
#include "util/error.hpp"

namespace sqe::bm25 {

// Holds the right to change the index. A text iterator that changes the index it feeds would wait for itself.
class Index::Change {
 public:
  explicit Change(Index& index) : index_(index) {
    if (index.changer_.load() == std::this_thread::get_id()) {
      throw InputError("texts: the iterator changes the index that it is being added to");
    }
    index.change_.lock();
    index.changer_.store(std::this_thread::get_id());
  }
  ~Change() {
    index_.changer_.store(std::thread::id());
    index_.change_.unlock();
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  Index& index_;
};

Index::Index(std::shared_ptr<const State> state, std::string tokenizer)
    : state_(std::move(state)), tokenizer_(std::move(tokenizer)) {}

std::shared_ptr<const State> Index::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

void Index::replace(std::shared_ptr<const State> state) {
  std::lock_guard lock(mutex_);
  state_.swap(state);  // the old snapshot is let go after the lock
}

std::unique_ptr<Index> Index::build(const Params& params, std::string tokenizer, const Feed& feed,
                                    int threads) {
  params.check();
  Builder builder(Vocabulary(), params.block_docs, threads);
  feed(builder);
  auto blocks = builder.finish();
  auto vocabulary = std::make_shared<const Vocabulary>(builder.take_vocabulary());
  auto state = make_state(params, std::move(vocabulary), std::move(blocks), threads);
  return std::unique_ptr<Index>(new Index(std::move(state), std::move(tokenizer)));
}

std::unique_ptr<Index> Index::load(const std::string& path, int threads) {
  IndexFile file = load_index(path, threads);
  return std::unique_ptr<Index>(new Index(std::move(file.state), std::move(file.tokenizer)));
}

void Index::save(const std::string& path) const { save_index(*state(), tokenizer_, path); }

void Index::add(const Feed& feed, int threads) {
  const Change change(*this);
  const auto old = state();
  Builder builder(*old->vocabulary, old->params.block_docs, threads);
  feed(builder);
  std::vector<BlockPart> parts;
  auto blocks = old->blocks;
  // The last block is usually not full: what fits is joined to it.
  if (!blocks.empty()) {
    parts.push_back({blocks.back(), {}});
    blocks.pop_back();
  }
  for (auto& block : builder.finish()) parts.push_back({std::move(block), {}});
  for (auto& block : join_blocks(parts, old->params.block_docs)) blocks.push_back(std::move(block));
  auto vocabulary = std::make_shared<const Vocabulary>(builder.take_vocabulary());
  replace(make_state(old->params, std::move(vocabulary), std::move(blocks), threads));
}

void Index::remove(const std::vector<std::uint32_t>& rows, int threads) {
  const Change change(*this);
  const auto old = state();
  if (!rows.empty() && rows.back() >= old->n_docs) {
    throw InputError("rows must be below the number of documents, " + std::to_string(old->n_docs) + "; got " +
                     std::to_string(rows.back()));
  }
  std::vector<BlockPart> parts;
  std::size_t next = 0;
  for (std::size_t b = 0; b < old->blocks.size(); ++b) {
    BlockPart part{old->blocks[b], {}};
    const std::uint32_t first = old->views[b].first_row;
    const std::uint32_t n = part.block->n_docs();
    if (next < rows.size() && rows[next] < first + n) {
      part.keep.assign(n, true);
      for (; next < rows.size() && rows[next] < first + n; ++next) part.keep[rows[next] - first] = false;
    }
    parts.push_back(std::move(part));
  }
  replace(make_state(old->params, old->vocabulary, join_blocks(parts, old->params.block_docs), threads));
}

}  // namespace sqe::bm25
