// Answering queries over a snapshot.
#pragma once

#include <cstdint>

#include "bm25/builder.hpp"
#include "bm25/state.hpp"

namespace sqe::bm25 {

// The best k rows of each of `count` queries: ids and scores [count, k], score descending then row ascending,
// padded with -1 and -inf. Rows that hold none of a query's terms are never returned; rows that do always
// are, whatever their score's sign. The result does not depend on the number of threads, blocks or the
// instruction set level.
void search(const State& state, std::size_t count, const TokenSource& queries, std::uint32_t k, int threads,
            std::int32_t* ids, float* scores);

// Every row's score for each query: rows [count, n_docs], 0 for a row that holds none of its terms. The same
// bits as search gives.
void score_rows(const State& state, std::size_t count, const TokenSource& queries, int threads, float* rows);

}  // namespace sqe::bm25
