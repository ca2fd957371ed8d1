// write_seeds FOLDER: small valid index files of every variant, from which fuzz_load starts.
#include <cstdio>
#include <string>

#include "../native/corpus.hpp"
#include "bm25/index.hpp"

int main(int argc, char** argv) {
  using namespace sqe;
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  testing::Random random(30);
  for (const auto variant : {bm25::Variant::okapi, bm25::Variant::lucene, bm25::Variant::atire,
                             bm25::Variant::bm25l, bm25::Variant::bm25plus}) {
    for (const std::size_t n_docs : {0, 1, 7, 40, 300}) {
      bm25::Params params;
      params.variant = variant;
      params.delta = variant >= bm25::Variant::bm25l ? 0.5 : 0;
      params.block_docs = n_docs == 300 ? bm25::kMaxBlockDocs : 5;
      const testing::Texts texts(testing::random_corpus(random, n_docs, 10, 3));
      bm25::Index::build(params, "whitespace", texts.feed(16), 1)
          ->save(std::string(argv[1]) + "/" + bm25::variant_name(variant) + "-" + std::to_string(n_docs));
    }
  }
}
