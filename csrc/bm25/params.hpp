// BM25 variants: the formulas, and nothing else.
//
// A score is the sum over query terms (each as often as it occurs in the query) of idf(term) * weight(tf,
// length). Documents without a term get nothing for it: for bm25l and bm25+ this is Lv and Zhai's definition
// (2011), where the lower bound delta separates a match from no match.
#pragma once

#include <cstdint>
#include <string>

namespace sqe::bm25 {

enum class Variant : std::uint32_t { okapi = 0, lucene = 1, atire = 2, bm25l = 3, bm25plus = 4 };

// "okapi", "lucene", "atire", "bm25l", "bm25+"; InputError for any other name.
Variant parse_variant(const std::string& name);
std::string variant_name(Variant variant);

struct Params {
  Variant variant = Variant::okapi;
  double k1 = 1.5;
  double b = 0.75;
  double delta = 0.0;                   // bm25l and bm25+ only
  double epsilon = 0.25;                // okapi only: a negative idf becomes epsilon * the mean idf
  std::uint32_t block_docs = 1u << 16;  // documents in a block at most; no result depends on it

  // InputError, naming the parameter, unless k1, delta, epsilon are from 0 to 1e6 and b from 0 to 1.
  void check() const;
};

// The term's idf before okapi's floor, for `n` documents of which `df` >= 1 hold the term.
double idf(Variant variant, double n, double df);

// The factor of a document of `length` tokens that holds the term `tf` >= 1 times.
double weight(const Params& params, double tf, double length, double mean_length);

}  // namespace sqe::bm25
