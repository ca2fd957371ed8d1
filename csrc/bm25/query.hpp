// A query made ready: its known terms, rarest first, each with its factor.
#pragma once

#include <cstdint>
#include <vector>

#include "bm25/state.hpp"
#include "text/tokenizer.hpp"

namespace sqe::bm25 {

struct QueryTerm {
  std::uint32_t term;
  std::uint32_t position;  // of its first occurrence in the query
  std::uint32_t count;     // occurrences in the query
  std::uint32_t df;
  float factor;       // idf * count
  const Slice* next;  // the first slice not yet passed
  const Slice* end;
};

struct Query {
  std::vector<QueryTerm> terms;
  // Scores are summed over all postings in double precision: some term's idf is negative, 0 or close to it,
  // so that upper bounds and "score 0 means absent" do not hold, or float sums of so many terms would not be
  // exact enough.
  bool careful = false;
  // Scratch of make_query: (df, position) of the known tokens, and the term at each position.
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> found;
};

// Every path adds a document's terms in this one order (df ascending, then first appearance in the query), so
// that pruned search, exhaustive search and score rows give the same bits. Unknown terms are dropped.
void make_query(const State& state, const text::TokenBuffer& tokens, Query& query);

}  // namespace sqe::bm25
