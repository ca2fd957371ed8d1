// Fusion kernels on any batch, against the restatement.
#include <cstring>

#include "../native/fusion_checks.hpp"

namespace {

using sqe::testing::FusionCase;

// Numbers from the input, 0 once it is used up.
class Source {
 public:
  Source(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  std::uint8_t byte() { return at_ == end_ ? 0 : *at_++; }
  std::uint32_t word() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

// Few values make ties and repeats; the other kinds reach the ends of their ranges.
std::int32_t any_id(Source& in) {
  const std::uint8_t kind = in.byte();
  if (kind < 16) return -1;
  return kind < 240 ? kind % 32 : static_cast<std::int32_t>(in.word() & 0x7FFFFFFF);
}

float any_score(Source& in) {
  const std::uint8_t kind = in.byte();
  if (kind < 192) return static_cast<float>(kind % 16) - 4.0f;
  const std::uint32_t bits = in.word();
  float score;
  std::memcpy(&score, &bits, sizeof score);
  return std::isfinite(score) ? score : -0.0f;
}

double any_weight(Source& in) {
  const std::uint8_t kind = in.byte();
  return kind == 255 ? -0.0 : kind < 128 ? kind : kind / 1024.0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Source in(data, size);
  FusionCase c;
  c.queries = in.byte() % 4;
  c.lists = in.byte() % 5;
  c.depth = in.byte() % 80;
  c.k = 1 + in.byte() % 100;
  const std::uint8_t options = in.byte();
  c.weights_per_query = options & 1;
  c.constant = any_weight(in);
  for (std::size_t i = 0; i < c.queries * c.lists && options & 2; ++i) {
    c.lengths.push_back(static_cast<std::int32_t>(in.byte() % (c.depth + 1)));
  }
  for (std::size_t i = 0; i < (c.weights_per_query ? c.queries : 1) * c.lists && options & 4; ++i) {
    c.weights.push_back(any_weight(in));
  }
  for (std::size_t i = 0; i < c.queries * c.lists * c.depth; ++i) {
    c.ids.push_back(any_id(in));
    c.scores.push_back(any_score(in));
  }
  sqe::testing::check_fusion(c, 1);
  return 0;
}
