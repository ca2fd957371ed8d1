#include "util/xxh64.hpp"

#include <bit>
#include <cstring>

namespace sqe {
namespace {

static_assert(std::endian::native == std::endian::little, "index files are little-endian");

constexpr std::uint64_t kP1 = 0x9E3779B185EBCA87ULL;
constexpr std::uint64_t kP2 = 0xC2B2AE3D27D4EB4FULL;
constexpr std::uint64_t kP3 = 0x165667B19E3779F9ULL;
constexpr std::uint64_t kP4 = 0x85EBCA77C2B2AE63ULL;
constexpr std::uint64_t kP5 = 0x27D4EB2F165667C5ULL;

template <class T>
T load(const unsigned char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kP2, 31) * kP1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) { return (hash ^ round(0, lane)) * kP1 + kP4; }

}  // namespace

std::uint64_t xxh64(const void* data, std::size_t size, std::uint64_t seed) {
  const auto* p = static_cast<const unsigned char*>(data);
  const unsigned char* const end = p + size;
  std::uint64_t hash;
  if (size >= 32) {
    std::uint64_t a = seed + kP1 + kP2;
    std::uint64_t b = seed + kP2;
    std::uint64_t c = seed;
    std::uint64_t d = seed - kP1;
    for (; end - p >= 32; p += 32) {
      a = round(a, load<std::uint64_t>(p));
      b = round(b, load<std::uint64_t>(p + 8));
      c = round(c, load<std::uint64_t>(p + 16));
      d = round(d, load<std::uint64_t>(p + 24));
    }
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  } else {
    hash = seed + kP5;
  }
  hash += size;
  for (; end - p >= 8; p += 8) hash = std::rotl(hash ^ round(0, load<std::uint64_t>(p)), 27) * kP1 + kP4;
  if (end - p >= 4) {
    hash = std::rotl(hash ^ (load<std::uint32_t>(p) * kP1), 23) * kP2 + kP3;
    p += 4;
  }
  for (; p < end; ++p) hash = std::rotl(hash ^ (*p * kP5), 11) * kP1;
  hash = (hash ^ (hash >> 33)) * kP2;
  hash = (hash ^ (hash >> 29)) * kP3;
  return hash ^ (hash >> 32);
}

}  // namespace sqe
