// One index, many threads: what ThreadSanitizer is for.
#include <atomic>
#include <thread>

#include "bm25/index.hpp"
#include "bm25_checks.hpp"
#include "scratch.hpp"

namespace sqe::testing {
namespace {

using bm25::Index;

// Every answer must be right for the snapshot that gave it, whatever the writers do meanwhile.
void ask(const Index& index, const Texts& queries, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const auto state = index.state();
    const std::size_t n_docs = static_cast<std::size_t>(state->n_docs);
    const Exact<float> rows = all_scores(*state, queries, 2);
    const Answers found = answers(*state, queries, 5, 2);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const float* row = rows.data() + q * n_docs;
      check_answers(found, q, 5, row, n_docs, [&](std::size_t doc) { return row[doc] > 0; });
    }
  }
}

TEST(concurrent_search_add_delete_save) {
  Random random(50);
  const Corpus corpus = random_corpus(random, 400, 100, 8);
  const Texts texts(corpus);
  const Texts more(random_corpus(random, 40, 140, 8));
  const Texts queries(random_corpus(random, 12, 100, 4));
  bm25::Params params;
  params.variant = bm25::Variant::lucene;  // all matches score above 0
  params.block_docs = 64;
  const auto index = Index::build(params, "whitespace", texts.feed(100), 2);
  const ScratchFolder folder;
  const std::string path = folder.path("index.bin");
  index->save(path);

  std::atomic<std::uint64_t> added{0}, deleted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&] { ask(*index, queries, 30); });
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        index->add(more.feed(16), 2);
        added += more.size();
      }
    });
  }
  threads.emplace_back([&] {
    for (int round = 0; round < 15; ++round) {
      index->remove({0, 3, 10, 11}, 2);  // never fewer rows than these
      deleted += 4;
    }
  });
  threads.emplace_back([&] {
    for (int round = 0; round < 10; ++round) {
      index->save(path);
      ask(*Index::load(path, 2), queries, 1);
    }
  });
  for (std::thread& thread : threads) thread.join();
  CHECK(index->state()->n_docs == corpus.size() + added - deleted);
}

TEST(concurrent_levels) {
  Random random(51);
  const Texts texts(random_corpus(random, 500, 100, 8));
  const Texts queries(random_corpus(random, 10, 100, 4));
  const auto index = Index::build({}, "whitespace", texts.feed(100), 2);
  const Answers expected = answers(*index->state(), queries, 7, 1);
  std::vector<std::thread> threads;
  threads.emplace_back([] {
    for (int round = 0; round < 200; ++round) at_each_level([] { std::this_thread::yield(); });
  });
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) CHECK(answers(*index->state(), queries, 7, 2) == expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sqe::testing
