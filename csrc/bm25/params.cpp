#include "bm25/params.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "util/error.hpp"

namespace sqe::bm25 {
namespace {

constexpr std::array<const char*, 5> kNames = {"okapi", "lucene", "atire", "bm25l", "bm25+"};

// Far above any use, and low enough that no score overflows.
constexpr double kLargest = 1e6;

void check_one(const char* name, double value, double high) {
  if (value >= 0 && value <= high) return;
  throw InputError(std::string(name) + " must be from 0 to " + std::to_string(static_cast<int>(high)) +
                   "; got " + std::to_string(value));
}

}  // namespace

Variant parse_variant(const std::string& name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<Variant>(i);
  }
  throw InputError("variant must be one of okapi, lucene, atire, bm25l, bm25+; got '" + name + "'");
}

std::string variant_name(Variant variant) { return kNames.at(static_cast<std::size_t>(variant)); }

void Params::check() const {
  check_one("k1", k1, kLargest);
  check_one("b", b, 1);
  check_one("delta", delta, kLargest);
  check_one("epsilon", epsilon, kLargest);
  check_one("block_docs - 1", block_docs - 1.0, 65535);
}

double idf(Variant variant, double n, double df) {
  switch (variant) {
    case Variant::okapi:  // Robertson and Walker, as rank_bm25 computes it
      return std::log(n - df + 0.5) - std::log(df + 0.5);
    case Variant::lucene:  // positive for every df
      return std::log1p((n - df + 0.5) / (df + 0.5));
    case Variant::atire:  // Trotman et al. 2012
      return std::log(n / df);
    case Variant::bm25l:
      return std::log(n + 1) - std::log(df + 0.5);
    case Variant::bm25plus:
      return std::log((n + 1) / df);
  }
  return 0;
}

double weight(const Params& p, double tf, double length, double mean_length) {
  const double norm = 1 - p.b + p.b * length / mean_length;
  switch (p.variant) {
    case Variant::lucene:  // Lucene 8 and later: no (k1 + 1), which changes no order
      return tf / (tf + p.k1 * norm);
    case Variant::okapi:
    case Variant::atire:
      return tf * (p.k1 + 1) / (tf + p.k1 * norm);
    case Variant::bm25l: {
      const double c = tf / norm + p.delta;
      return (p.k1 + 1) * c / (p.k1 + c);
    }
    case Variant::bm25plus:
      return tf * (p.k1 + 1) / (tf + p.k1 * norm) + p.delta;
  }
  return 0;
}

}  // namespace sqe::bm25
