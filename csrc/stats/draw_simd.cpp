// Compiled once per instruction set level; see util/isa.hpp.
//
// Philox on vectors: a 64-bit lane holds one counter word in its lower half. The multiply instruction reads
// only that half, so what the products leave in the upper half never has to be cleared: a round is two
// multiplications, two shifts and two xors for as many blocks as there are lanes.
#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

#include "stats/draw_kernels.hpp"
#include "util/philox.hpp"

namespace sqe::stats::SQE_ISA {
namespace {

// What the draws of one word of thresholds' upper halves cannot decide is settled here: the draw's lower
// half.
[[gnu::noinline]] bool below(std::uint64_t seed, std::uint32_t index, std::uint64_t draw,
                             std::uint32_t threshold) {
  const PhiloxBlock low = philox::block(static_cast<std::uint32_t>(draw / 8), index, kLow, kBootstrap, seed);
  const unsigned half = draw % 8;
  return (low.word[half / 2] >> (half % 2 * 16) & 0xFFFF) < (threshold & 0xFFFF);
}

#if defined(__AVX512F__)

constexpr std::size_t kBlocks = 8;  // Philox blocks a step
using Words = __m512i;

inline Words broadcast(std::uint32_t x) { return _mm512_set1_epi64(x); }
inline Words multiply(Words a, Words b) { return _mm512_mul_epu32(a, b); }
inline Words upper(Words a) { return _mm512_srli_epi64(a, 32); }
inline Words xor3(Words a, Words b, Words c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
inline Words first_counters(std::uint32_t block) {
  return _mm512_add_epi64(_mm512_set1_epi64(block), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
}
// Lower half from a, upper half from the lower half of b.
inline Words pair(Words a, Words b) { return _mm512_mask_shuffle_epi32(a, 0xAAAA, b, _MM_PERM_CCAA); }
inline void store_blocks(Words first, Words second, std::uint32_t* words) {
  const Words even = _mm512_unpacklo_epi64(first, second), odd = _mm512_unpackhi_epi64(first, second);
  const __m512i front = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i back = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  _mm512_storeu_si512(words, _mm512_permutex2var_epi64(even, front, odd));
  _mm512_storeu_si512(words + 16, _mm512_permutex2var_epi64(even, back, odd));
}
// One bit a half-word.
inline std::uint64_t at_least(Words x, Words limit) { return _mm512_cmpge_epu16_mask(x, limit); }
inline std::uint64_t equal(Words x, Words limit) { return _mm512_cmpeq_epu16_mask(x, limit); }
inline Words broadcast16(std::uint32_t x) { return _mm512_set1_epi16(static_cast<short>(x)); }
constexpr unsigned kBitsPerHalf = 1;
#define SQE_PHILOX_VECTOR 1

#elif defined(__AVX2__)

constexpr std::size_t kBlocks = 4;
using Words = __m256i;

inline Words broadcast(std::uint32_t x) { return _mm256_set1_epi64x(x); }
inline Words multiply(Words a, Words b) { return _mm256_mul_epu32(a, b); }
inline Words upper(Words a) { return _mm256_srli_epi64(a, 32); }
inline Words xor3(Words a, Words b, Words c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
inline Words first_counters(std::uint32_t block) {
  return _mm256_add_epi64(_mm256_set1_epi64x(block), _mm256_set_epi64x(3, 2, 1, 0));
}
inline Words pair(Words a, Words b) { return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA); }
inline void store_blocks(Words first, Words second, std::uint32_t* words) {
  const Words even = _mm256_unpacklo_epi64(first, second), odd = _mm256_unpackhi_epi64(first, second);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), _mm256_permute2x128_si256(even, odd, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}
// Two bits a half-word.
inline std::uint64_t at_least(Words x, Words limit) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_max_epu16(x, limit), x)));
}
inline std::uint64_t equal(Words x, Words limit) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi16(x, limit)));
}
inline Words broadcast16(std::uint32_t x) { return _mm256_set1_epi16(static_cast<short>(x)); }
constexpr unsigned kBitsPerHalf = 2;
#define SQE_PHILOX_VECTOR 1

#elif defined(__SSE4_1__)

constexpr std::size_t kBlocks = 2;
using Words = __m128i;

inline Words broadcast(std::uint32_t x) { return _mm_set1_epi64x(x); }
inline Words multiply(Words a, Words b) { return _mm_mul_epu32(a, b); }
inline Words upper(Words a) { return _mm_srli_epi64(a, 32); }
inline Words xor3(Words a, Words b, Words c) { return _mm_xor_si128(_mm_xor_si128(a, b), c); }
inline Words first_counters(std::uint32_t block) {
  return _mm_add_epi64(_mm_set1_epi64x(block), _mm_set_epi64x(1, 0));
}
inline Words pair(Words a, Words b) { return _mm_blend_epi16(a, _mm_slli_epi64(b, 32), 0xCC); }
inline void store_blocks(Words first, Words second, std::uint32_t* words) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(words), _mm_unpacklo_epi64(first, second));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(words + 4), _mm_unpackhi_epi64(first, second));
}
// Two bits a half-word.
inline std::uint64_t at_least(Words x, Words limit) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi16(_mm_max_epu16(x, limit), x)));
}
inline std::uint64_t equal(Words x, Words limit) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi16(x, limit)));
}
inline Words broadcast16(std::uint32_t x) { return _mm_set1_epi16(static_cast<short>(x)); }
constexpr unsigned kBitsPerHalf = 2;
#define SQE_PHILOX_VECTOR 1

#endif

#if defined(SQE_PHILOX_VECTOR)

struct Keys {
  explicit Keys(std::uint64_t seed) {
    for (int round = 0; round < philox::kRounds; ++round) {
      first[round] = broadcast(static_cast<std::uint32_t>(seed) + philox::kWeyl0 * round);
      second[round] = broadcast(static_cast<std::uint32_t>(seed >> 32) + philox::kWeyl1 * round);
    }
  }
  Words first[philox::kRounds], second[philox::kRounds];
};

// Blocks block..block + kBlocks - 1. Lane i of *first gets words 0 and 1 of block i, of *second 2 and 3.
[[gnu::always_inline]] inline void step(const Keys& keys, std::uint32_t block, std::uint32_t index,
                                        std::uint32_t stream, std::uint32_t purpose, Words* first,
                                        Words* second) {
  const Words multiplier0 = broadcast(philox::kMultiplier0), multiplier1 = broadcast(philox::kMultiplier1);
  Words c0 = first_counters(block), c1 = broadcast(index), c2 = broadcast(stream), c3 = broadcast(purpose);
  for (int round = 0; round < philox::kRounds; ++round) {
    const Words product0 = multiply(c0, multiplier0), product1 = multiply(c2, multiplier1);
    c0 = xor3(upper(product1), c1, keys.first[round]);
    c1 = product1;
    c2 = xor3(upper(product0), c3, keys.second[round]);
    c3 = product0;
  }
  *first = pair(c0, c1);
  *second = pair(c2, c3);
}

void fill(std::uint64_t seed, std::uint32_t first_block, std::size_t n_blocks, std::uint32_t index,
          std::uint32_t stream, std::uint32_t purpose, std::uint32_t* words) {
  const Keys keys(seed);
  std::size_t i = 0;
  Words first, second;
  for (; i + kBlocks <= n_blocks; i += kBlocks) {
    step(keys, first_block + static_cast<std::uint32_t>(i), index, stream, purpose, &first, &second);
    store_blocks(first, second, words + 4 * i);
  }
  if (i == n_blocks) return;
  std::uint32_t rest[4 * kBlocks];
  step(keys, first_block + static_cast<std::uint32_t>(i), index, stream, purpose, &first, &second);
  store_blocks(first, second, rest);
  for (std::size_t j = 0; j < 4 * (n_blocks - i); ++j) words[4 * i + j] = rest[j];
}

// The bits of the half-words of one vector whose draw is one of the first `left`; `offset` is 0 for the
// vector of words 0 and 1, 4 for that of words 2 and 3: half-word h of lane b is draw 8 b + offset + h.
std::uint64_t valid_bits(std::size_t left, std::size_t offset) {
  std::uint64_t bits = 0;
  for (std::size_t half = 0; half < 4 * kBlocks; ++half) {
    if (half / 4 * 8 + offset + half % 4 < left) {
      bits |= ((std::uint64_t{1} << kBitsPerHalf) - 1) << (half * kBitsPerHalf);
    }
  }
  return bits;
}

void count_at_least(std::uint64_t seed, std::uint32_t index, std::size_t n, const std::uint32_t* thresholds,
                    std::size_t n_thresholds, std::uint64_t* counts) {
  constexpr std::size_t kDraws = 8 * kBlocks;
  const Keys keys(seed);
  for (std::size_t t = 0; t < n_thresholds; ++t) counts[t] = 0;
  std::uint64_t valid0 = valid_bits(kDraws, 0), valid1 = valid_bits(kDraws, 4);
  for (std::size_t draw = 0; draw < n; draw += kDraws) {
    if (n - draw < kDraws) {
      valid0 = valid_bits(n - draw, 0);
      valid1 = valid_bits(n - draw, 4);
    }
    Words first, second;
    step(keys, static_cast<std::uint32_t>(draw / 8), index, kHigh, kBootstrap, &first, &second);
    for (std::size_t t = 0; t < n_thresholds; ++t) {
      const Words limit = broadcast16(thresholds[t] >> 16);
      counts[t] += static_cast<std::uint64_t>(__builtin_popcountll(at_least(first, limit) & valid0)) +
                   static_cast<std::uint64_t>(__builtin_popcountll(at_least(second, limit) & valid1));
      std::uint64_t ties[2] = {equal(first, limit) & valid0, equal(second, limit) & valid1};
      if ((ties[0] | ties[1]) == 0) [[likely]]
        continue;
      for (unsigned vector = 0; vector < 2; ++vector) {
        for (; ties[vector] != 0; ties[vector] &= ties[vector] - 1) {
          const auto bit = static_cast<unsigned>(__builtin_ctzll(ties[vector]));
          if (bit % kBitsPerHalf != 0) continue;
          const unsigned half = bit / kBitsPerHalf;
          const std::size_t tied = draw + half / 4 * 8 + vector * 4 + half % 4;
          if (below(seed, index, tied, thresholds[t])) counts[t] -= kBitsPerHalf;
        }
      }
    }
  }
  for (std::size_t t = 0; t < n_thresholds; ++t) counts[t] /= kBitsPerHalf;
}

#else

void fill(std::uint64_t seed, std::uint32_t first_block, std::size_t n_blocks, std::uint32_t index,
          std::uint32_t stream, std::uint32_t purpose, std::uint32_t* words) {
  for (std::size_t i = 0; i < n_blocks; ++i) {
    const PhiloxBlock block =
        philox::block(first_block + static_cast<std::uint32_t>(i), index, stream, purpose, seed);
    for (std::size_t j = 0; j < 4; ++j) words[4 * i + j] = block.word[j];
  }
}

void count_at_least(std::uint64_t seed, std::uint32_t index, std::size_t n, const std::uint32_t* thresholds,
                    std::size_t n_thresholds, std::uint64_t* counts) {
  constexpr std::size_t kDraws = 256;
  for (std::size_t t = 0; t < n_thresholds; ++t) counts[t] = 0;
  std::uint16_t halves[kDraws];
  for (std::size_t draw = 0; draw < n; draw += kDraws) {
    const std::size_t here = n - draw < kDraws ? n - draw : kDraws;
    for (std::size_t i = 0; i < here; i += 8) {
      const PhiloxBlock block =
          philox::block(static_cast<std::uint32_t>((draw + i) / 8), index, kHigh, kBootstrap, seed);
      for (std::size_t j = 0; j < 8; ++j) {
        halves[i + j] = static_cast<std::uint16_t>(block.word[j / 2] >> (j % 2 * 16));
      }
    }
    for (std::size_t t = 0; t < n_thresholds; ++t) {
      const auto limit = static_cast<std::uint16_t>(thresholds[t] >> 16);
      std::uint32_t count = 0, ties = 0;
      for (std::size_t i = 0; i < here; ++i) {
        count += halves[i] >= limit;
        ties += halves[i] == limit;
      }
      counts[t] += count;
      for (std::size_t i = 0; ties != 0 && i < here; ++i) {
        if (halves[i] == limit && below(seed, index, draw + i, thresholds[t])) --counts[t];
      }
    }
  }
}

#endif

}  // namespace

const DrawKernels& draw_kernels() {
  static constexpr DrawKernels kernels = {fill, count_at_least};
  return kernels;
}

}  // namespace sqe::stats::SQE_ISA
