// Compiled once per instruction set level; see util/isa.hpp for what such a file must not use.
#include <cstring>

#include "text/ascii_kernels.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace sqe::text::SQE_ISA {
namespace {

// Each level defines: Lane (a vector of kLane bytes), load, store, in_range (mask of bytes from `low` to
// `high`, one bit a byte) and lower. in_range relies on unsigned wrap-around, so it is right for bytes above
// 127 too.
#if defined(__AVX512BW__)

using Lane = __m512i;
constexpr std::size_t kLane = 64;

inline Lane load(const char* at) { return _mm512_loadu_si512(at); }
inline void store(char* at, Lane lane) { _mm512_storeu_si512(at, lane); }
inline std::uint64_t in_range(Lane lane, char low, char high) {
  return _mm512_cmple_epu8_mask(_mm512_sub_epi8(lane, _mm512_set1_epi8(low)), _mm512_set1_epi8(high - low));
}
inline Lane lower(Lane lane) {
  return _mm512_mask_or_epi64(lane, 0xFF, lane, _mm512_maskz_set1_epi8(in_range(lane, 'A', 'Z'), 0x20));
}

#elif defined(__AVX2__)

using Lane = __m256i;
constexpr std::size_t kLane = 32;

inline Lane load(const char* at) { return _mm256_loadu_si256(reinterpret_cast<const Lane*>(at)); }
inline void store(char* at, Lane lane) { _mm256_storeu_si256(reinterpret_cast<Lane*>(at), lane); }
inline Lane range_bytes(Lane lane, char low, char high) {
  const Lane offset = _mm256_sub_epi8(lane, _mm256_set1_epi8(low));
  return _mm256_cmpeq_epi8(_mm256_min_epu8(offset, _mm256_set1_epi8(high - low)), offset);
}
inline std::uint64_t in_range(Lane lane, char low, char high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(range_bytes(lane, low, high)));
}
inline Lane lower(Lane lane) {
  return _mm256_or_si256(lane, _mm256_and_si256(range_bytes(lane, 'A', 'Z'), _mm256_set1_epi8(0x20)));
}

#elif defined(__SSE2__)

using Lane = __m128i;
constexpr std::size_t kLane = 16;

inline Lane load(const char* at) { return _mm_loadu_si128(reinterpret_cast<const Lane*>(at)); }
inline void store(char* at, Lane lane) { _mm_storeu_si128(reinterpret_cast<Lane*>(at), lane); }
inline Lane range_bytes(Lane lane, char low, char high) {
  const Lane offset = _mm_sub_epi8(lane, _mm_set1_epi8(low));
  return _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8(static_cast<char>(high - low))), offset);
}
inline std::uint64_t in_range(Lane lane, char low, char high) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(range_bytes(lane, low, high)));
}
inline Lane lower(Lane lane) {
  return _mm_or_si128(lane, _mm_and_si128(range_bytes(lane, 'A', 'Z'), _mm_set1_epi8(0x20)));
}

#else  // any other machine: eight bytes in a plain word

struct Lane {
  unsigned char bytes[8];
};
constexpr std::size_t kLane = 8;

inline Lane load(const char* at) {
  Lane lane;
  std::memcpy(lane.bytes, at, kLane);
  return lane;
}
inline void store(char* at, Lane lane) { std::memcpy(at, lane.bytes, kLane); }
inline std::uint64_t in_range(Lane lane, char low, char high) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kLane; ++i) {
    mask |= static_cast<std::uint64_t>(lane.bytes[i] >= low && lane.bytes[i] <= high) << i;
  }
  return mask;
}
inline Lane lower(Lane lane) {
  for (unsigned char& byte : lane.bytes) byte |= byte >= 'A' && byte <= 'Z' ? 0x20 : 0;
  return lane;
}

#endif

struct Spaces {
  using Masks = std::uint64_t;
  static void clear(Masks& masks) { masks = 0; }
  static void add(Masks& masks, Lane lane, std::size_t shift) {
    masks |= (in_range(lane, '\t', '\r') | in_range(lane, '\x1c', ' ')) << shift;
  }
};

struct Classes {
  using Masks = AsciiClasses;
  static void clear(Masks& masks) { masks = {0, 0, 0, 0, 0, 0}; }
  static void add(Masks& masks, Lane lane, std::size_t shift) {
    masks.lower |= in_range(lane, 'a', 'z') << shift;
    masks.upper |= in_range(lane, 'A', 'Z') << shift;
    masks.digit |= in_range(lane, '0', '9') << shift;
    masks.connector |= in_range(lane, '_', '_') << shift;
    masks.apostrophe |= in_range(lane, '\'', '\'') << shift;
    masks.point |= in_range(lane, '.', '.') << shift;
  }
};

template <class Kind>
void lower_block(const char* in, char* out, typename Kind::Masks& masks) {
  Kind::clear(masks);
  for (std::size_t i = 0; i < kBlock; i += kLane) {
    const Lane lane = load(in + i);
    store(out + i, lower(lane));
    Kind::add(masks, lane, i);
  }
}

template <class Kind>
void lower_text(const char* in, std::size_t length, char* out, typename Kind::Masks* masks) {
  std::size_t i = 0;
  for (; i + kBlock <= length; i += kBlock) lower_block<Kind>(in + i, out + i, *masks++);
  if (i == length) return;
  char tail[kBlock];
  std::memset(tail, ' ', kBlock);
  std::memcpy(tail, in + i, length - i);
  lower_block<Kind>(tail, out + i, *masks);
}

constexpr AsciiKernels kKernels{lower_text<Spaces>, lower_text<Classes>};

}  // namespace

const AsciiKernels& ascii_kernels() { return kKernels; }

}  // namespace sqe::text::SQE_ISA
