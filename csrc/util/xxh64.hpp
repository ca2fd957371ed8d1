// XXH64, the 64-bit checksum of the xxHash specification (https://github.com/Cyan4973/xxHash,
// doc/xxhash_spec.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sqe {

std::uint64_t xxh64(const void* data, std::size_t size, std::uint64_t seed = 0);

}  // namespace sqe
