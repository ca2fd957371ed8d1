#include <fstream>
#include <iterator>

#include "index_file.hpp"
#include "loaded_checks.hpp"
#include "scratch.hpp"
#include "util/error.hpp"

namespace sqe::testing {
namespace {

using bm25::Index;
using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  CHECK(out.good());
}

Bytes small_index(const ScratchFolder& folder) {
  Random random(40);
  bm25::Params params;
  params.block_docs = 5;
  const Texts texts(random_corpus(random, 9, 8, 4));
  const std::string path = folder.path("small.bin");
  Index::build(params, "code", texts.feed(3), 1)->save(path);
  return read_file(path);
}

// A clear refusal (null) or an index.
std::unique_ptr<Index> load(const ScratchFolder& folder, const Bytes& bytes) {
  const std::string path = folder.path("damaged.bin");
  write_file(path, bytes);
  try {
    return Index::load(path, 1);
  } catch (const FileError& error) {
    CHECK(std::string(error.what()).find(path) == 0);
    return nullptr;
  }
}

TEST(file_every_flipped_bit_is_seen) {
  const ScratchFolder folder;
  const Bytes good = small_index(folder);
  check_loaded(*load(folder, good));
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= static_cast<std::uint8_t>(1u << at % 8);
    CHECK(!load(folder, bad));
  }
}

TEST(file_cut_off_is_refused) {
  const ScratchFolder folder;
  const Bytes good = small_index(folder);
  for (std::size_t size = 0; size < good.size(); size += size + 40 < good.size() ? 7 : 1) {
    CHECK(!load(folder, Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))));
  }
  Bytes longer = good;
  longer.push_back(0);
  CHECK(!load(folder, longer));
}

#if defined(__SANITIZE_THREAD__)
constexpr std::size_t kWordStep = 40;  // one thread only: there is little for that sanitizer to see
#else
constexpr std::size_t kWordStep = 4;
#endif

// Every word of the file set to every kind of wrong value, checksums made true again.
TEST(file_wrong_words_behind_true_checksums) {
  const ScratchFolder folder;
  const Bytes good = small_index(folder);
  int loaded = 0, refused = 0;
  for (std::size_t at = 8; at + 4 <= good.size(); at += kWordStep) {
    std::uint32_t word;
    std::memcpy(&word, good.data() + at, 4);
    for (const std::uint32_t value : {0u, word - 1, word + 1, word ^ 0x10000u, ~0u}) {
      if (value == word) continue;
      Bytes bad = good;
      std::memcpy(bad.data() + at, &value, 4);
      index_file::reseal(bad.data(), bad.size());
      const auto index = load(folder, bad);
      if (index) check_loaded(*index);
      ++(index ? loaded : refused);
    }
  }
  CHECK(loaded > 0 && refused > loaded / 2);
}

// Two blocks in the same bytes: a small file could stand for an index that fills the memory.
TEST(file_shared_sections_are_refused) {
  const ScratchFolder folder;
  Bytes bad = small_index(folder);
  std::uint8_t* blocks = bad.data() + index_file::kHeader + 3 * index_file::kSection;
  std::memcpy(blocks + 5 * index_file::kSection, blocks, 5 * index_file::kSection);
  index_file::reseal(bad.data(), bad.size());
  CHECK(!load(folder, bad));
}

TEST(file_not_an_index) {
  const ScratchFolder folder;
  CHECK(throws<FileError>([&] { Index::load(folder.path("missing.bin"), 1); }));
  CHECK(throws<FileError>([&] { Index::load(folder.path(""), 1); }));
  CHECK(throws<FileError>([&] { Index::load("/dev/null", 1); }));
  CHECK(!load(folder, {}));
  CHECK(!load(folder, Bytes(5000, 'x')));
}

TEST(file_cannot_be_written) {
  const ScratchFolder folder;
  const Texts texts{Corpus{{"a"}}};
  const auto index = Index::build({}, "code", texts.feed(1), 1);
  CHECK(throws<FileError>([&] { index->save(folder.path("no/such/folder")); }));
  const auto long_name = Index::build({}, std::string(64, 'x'), texts.feed(1), 1);
  CHECK(throws<InputError>([&] { long_name->save(folder.path("x")); }));
}

}  // namespace
}  // namespace sqe::testing
