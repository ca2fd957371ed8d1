#include "bm25/index.hpp"
#include "bm25_checks.hpp"
#include "scratch.hpp"
#include "util/error.hpp"

namespace sqe::testing {
namespace {

using bm25::Index;
using bm25::Params;
using bm25::Variant;

Params random_params(Random& random, std::uint32_t block_docs) {
  Params params;
  params.variant = static_cast<Variant>(random.below(5));
  params.k1 = random.chance(6) ? 0 : random.unit() * 3;
  params.b = random.chance(6) ? static_cast<double>(random.below(2)) : random.unit();
  params.delta = params.variant >= Variant::bm25l ? random.unit() : 0;
  params.epsilon = random.chance(4) ? 0 : 0.25;
  params.block_docs = block_docs;
  return params;
}

// Known and unknown words, repeated ones, none at all.
Corpus random_queries(Random& random, std::size_t n, std::size_t n_words) {
  Corpus queries(n);
  for (std::size_t i = 1; i < n; ++i) {
    const std::size_t length = random.chance(5) ? random.from(40, 80) : random.from(1, 8);
    for (std::size_t j = 0; j < length; ++j) {
      queries[i].push_back(random.chance(12) ? "unknown" : random_word(random, n_words));
    }
  }
  return queries;
}

// The same documents in a new index give the same bits.
void check_rebuilt(const Index& index, const Corpus& corpus, const Corpus& queries) {
  Params params = index.state()->params;
  params.block_docs = bm25::kMaxBlockDocs;
  const Texts texts(corpus), asked(queries);
  const auto rebuilt = Index::build(params, "whitespace", texts.feed(1000), 1);
  CHECK(all_scores(*rebuilt->state(), asked, 1) == all_scores(*index.state(), asked, 1));
}

// Build, add, delete, save and load, with the brute force beside each step.
void live_through(Random& random, std::uint32_t block_docs, std::size_t n_docs, std::size_t n_words,
                  std::size_t mean_length, std::size_t n_queries) {
  Corpus corpus = random_corpus(random, n_docs, n_words, mean_length);
  const Corpus queries = random_queries(random, n_queries, n_words);
  const Params params = random_params(random, block_docs);
  std::unique_ptr<Index> index;
  {
    const Texts texts(corpus);
    index = Index::build(params, "whitespace", texts.feed(random.from(1, n_docs + 1)), 3);
  }
  check_index(*index->state(), corpus, queries);

  const Corpus more = random_corpus(random, random.below(n_docs + 1), n_words + 50, mean_length);
  {
    const Texts texts(more);
    index->add(texts.feed(random.from(1, n_docs + 1)), 2);
  }
  corpus.insert(corpus.end(), more.begin(), more.end());
  check_index(*index->state(), corpus, queries);

  std::vector<std::uint32_t> gone;
  Corpus left;
  const std::size_t share = random.from(1, 5);  // 1: all
  for (std::uint32_t row = 0; row < corpus.size(); ++row) {
    if (random.chance(share)) {
      gone.push_back(row);
    } else {
      left.push_back(corpus[row]);
    }
  }
  index->remove(gone, 2);
  check_index(*index->state(), left, queries);
  check_rebuilt(*index, left, queries);

  const ScratchFolder folder;
  const std::string path = folder.path("index.bin");
  index->save(path);
  const auto loaded = Index::load(path, 2);
  CHECK(loaded->tokenizer() == "whitespace");
  check_index(*loaded->state(), left, queries, false);
  {
    const Texts texts(more);
    loaded->add(texts.feed(64), 2);  // grows from memory that is a mapped file
  }
  left.insert(left.end(), more.begin(), more.end());
  check_index(*loaded->state(), left, queries, false);
  loaded->save(path);  // replaces the file that is mapped
  check_index(*loaded->state(), left, queries, false);
}

TEST(bm25_tiny) {
  Random random(20);
  for (int round = 0; round < 30; ++round) {
    live_through(random, static_cast<std::uint32_t>(random.from(1, 9)), random.below(12), 8, 4, 5);
  }
}

TEST(bm25_many_blocks) {
  Random random(21);
  for (int round = 0; round < 6; ++round) {
    live_through(random, static_cast<std::uint32_t>(random.from(1, 80)), random.from(200, 500), 300, 10, 6);
  }
}

// 256 documents in a block is where bitmaps begin.
TEST(bm25_bitmaps) {
  Random random(22);
  for (const std::uint32_t block_docs : {255u, 256u, 320u, 1000u}) {
    live_through(random, block_docs, 1200, 400, 12, 8);
  }
}

TEST(bm25_pruning) {
  Random random(23);
  for (const Variant variant : {Variant::okapi, Variant::lucene}) {
    const Corpus corpus = random_corpus(random, 6000, 2000, 14);
    const Texts texts(corpus);
    for (const std::uint32_t block_docs : {1500u, bm25::kMaxBlockDocs}) {
      Params params;
      params.variant = variant;
      params.block_docs = block_docs;
      const auto index = Index::build(params, "whitespace", texts.feed(5000), 2);
      check_index(*index->state(), corpus, random_queries(random, 20, 2000), false);
    }
  }
}

TEST(bm25_empty) {
  const Texts nothing{Corpus()};
  const auto index = Index::build({}, "whitespace", nothing.feed(1), 2);
  check_index(*index->state(), {}, {{}, {"a"}});
  const Texts two{Corpus{{}, {}}};
  index->add(two.feed(1), 2);
  check_index(*index->state(), {{}, {}}, {{}, {"a"}});
  index->remove({0, 1}, 2);
  check_index(*index->state(), {}, {{}, {"a"}});
}

TEST(bm25_failures_change_nothing) {
  Random random(24);
  const Corpus corpus = random_corpus(random, 100, 50, 6);
  const Texts texts(corpus);
  const auto index = Index::build({}, "whitespace", texts.feed(30), 2);
  const auto before = index->state();
  CHECK(throws<std::runtime_error>([&] {
    index->add(
        [&](bm25::Builder& builder) {
          builder.add(50, texts.source());
          builder.add(50, [](std::size_t i, text::TokenBuffer&) {
            if (i == 20) throw std::runtime_error("no more text");
          });
        },
        2);
  }));
  CHECK(throws<InputError>([&] { index->add([&](bm25::Builder&) { index->remove({0}, 1); }, 1); }));
  CHECK(index->state() == before);
  index->remove({0}, 1);  // the right to change was given back
  CHECK(index->state()->n_docs == 99);
}

}  // namespace
}  // namespace sqe::testing
