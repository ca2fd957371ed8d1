#include "bm25/file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "util/error.hpp"
#include "util/mapped_file.hpp"
#include "util/threads.hpp"
#include "util/xxh64.hpp"

namespace sqe::bm25 {
namespace {

constexpr char kMagic[8] = {'S', 'Q', 'E', 'B', 'M', '2', '5', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kAlign = 64;
constexpr std::size_t kVocabularySections = 3;
constexpr std::size_t kBlockSections = 5;
constexpr std::size_t kNameBytes = 64;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t variant;
  double k1;
  double b;
  double delta;
  double epsilon;
  std::uint64_t file_bytes;
  std::uint64_t n_blocks;
  char tokenizer[kNameBytes];
  std::uint64_t checksum;  // of the header with 0 here, then the table
};
static_assert(sizeof(Header) == 136);

struct Section {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t checksum;
};

std::size_t n_sections(std::uint64_t n_blocks) {
  return kVocabularySections + kBlockSections * static_cast<std::size_t>(n_blocks);
}

std::uint64_t aligned(std::uint64_t offset) { return (offset + kAlign - 1) / kAlign * kAlign; }

std::uint64_t header_checksum(Header header, const std::vector<Section>& table) {
  header.checksum = 0;
  return xxh64(table.data(), table.size() * sizeof(Section), xxh64(&header, sizeof header));
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(MappedFile::open(path)) {}

  [[noreturn]] void fail(const std::string& what) const { throw FileError(path_ + ": " + what); }
  void require(bool condition, const char* what) const {
    if (!condition) fail(std::string("the index file is damaged: ") + what);
  }

  Header header() {
    Header header;
    if (file_->size() < sizeof header || std::memcmp(file_->data(), kMagic, sizeof kMagic) != 0) {
      fail("not a BM25 index file of sqe_fast");
    }
    std::memcpy(&header, file_->data(), sizeof header);
    if (header.version != kVersion) {
      fail("index file version " + std::to_string(header.version) + ", this build reads version " +
           std::to_string(kVersion) + "; build the index again");
    }
    require(header.file_bytes == file_->size(), "its size differs from the size in its header");
    require(header.n_blocks <= file_->size() / (kBlockSections * sizeof(Section)), "too many blocks");
    const std::size_t n = n_sections(header.n_blocks);
    require(file_->size() >= sizeof header + n * sizeof(Section), "cut off in the section table");
    table_.resize(n);
    std::memcpy(table_.data(), file_->data() + sizeof header, n * sizeof(Section));
    require(header.checksum == header_checksum(header, table_), "the header's checksum does not match");
    return header;
  }

  // Sections follow each other as save_index lays them out, with zeros between, so that no byte of the file
  // goes unchecked.
  void check_sections(int threads) const {
    std::uint64_t end = sizeof(Header) + table_.size() * sizeof(Section);
    for (const Section& s : table_) {
      require(s.offset == aligned(end) && s.offset <= file_->size() && s.bytes <= file_->size() - s.offset,
              "a section lies outside its place");
      for (; end < s.offset; ++end)
        require(file_->data()[end] == 0, "the space between sections is not empty");
      end = s.offset + s.bytes;
    }
    require(end == file_->size(), "there is something behind the last section");
    parallel_for(table_.size(), threads, [&](std::size_t i, int) {
      const Section& s = table_[i];
      require(xxh64(file_->data() + s.offset, s.bytes) == s.checksum, "a section's checksum does not match");
    });
  }

  template <class T>
  Array<T> section(std::size_t i) const {
    require(table_[i].bytes % sizeof(T) == 0, "a section has a broken size");
    return {reinterpret_cast<const T*>(file_->data() + table_[i].offset), table_[i].bytes / sizeof(T), file_};
  }

 private:
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<Section> table_;
};

std::shared_ptr<const Vocabulary> read_vocabulary(const Reader& in, int threads) {
  const auto slots = in.section<std::uint64_t>(0);
  const auto offsets = in.section<std::uint64_t>(1);
  const auto bytes = in.section<char>(2);
  in.require(!offsets.empty() && offsets[0] == 0 && offsets[offsets.size() - 1] == bytes.size(),
             "term offsets do not span the terms");
  in.require(offsets.size() - 1 < Vocabulary::kMissing, "too many terms");
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    in.require(offsets[i - 1] <= offsets[i], "term offsets are not ascending");
  }
  const std::size_t n_terms = offsets.size() - 1;
  in.require(!slots.empty() && (slots.size() & (slots.size() - 1)) == 0 && slots.size() > n_terms,
             "the term table has a broken size");
  std::size_t used = 0;
  for (std::uint64_t slot : slots) {
    if (slot == 0) continue;
    ++used;
    const std::uint32_t id = static_cast<std::uint32_t>(slot) - 1;
    in.require(id < n_terms, "the term table names a term that is not there");
  }
  in.require(used == n_terms, "the term table does not hold every term once");
  auto vocabulary = std::make_shared<const Vocabulary>(slots, offsets, bytes);
  constexpr std::size_t kShare = 1 << 14;
  parallel_for((n_terms + kShare - 1) / kShare, threads, [&](std::size_t share, int) {
    for (std::size_t id = share * kShare; id < std::min(n_terms, (share + 1) * kShare); ++id) {
      in.require(vocabulary->find(vocabulary->term(static_cast<std::uint32_t>(id))) == id,
                 "the term table does not lead to every term");
    }
  });
  return vocabulary;
}

std::shared_ptr<const Block> read_block(const Reader& in, std::size_t first_section, std::uint32_t n_terms) {
  auto block = std::make_shared<Block>();
  block->lengths = in.section<std::uint32_t>(first_section);
  block->codes = in.section<TfLength>(first_section + 1);
  block->terms = in.section<std::uint32_t>(first_section + 2);
  block->starts = in.section<std::uint32_t>(first_section + 3);
  block->postings = in.section<Posting>(first_section + 4);
  in.require(block->lengths.size() >= 1 && block->lengths.size() <= kMaxBlockDocs,
             "a block has a broken size");
  in.require(block->codes.size() <= kMaxBlockCodes, "a block has too many codes");
  in.require(block->starts.size() == block->terms.size() + 1, "a block's terms and starts differ in number");
  in.require(block->starts[0] == 0 && block->starts[block->terms.size()] == block->postings.size(),
             "a block's starts do not span its postings");
  for (const TfLength& pair : block->codes) {
    in.require(pair.tf >= 1 && pair.tf <= pair.length, "a block has a broken term frequency");
  }
  for (std::size_t t = 0; t < block->terms.size(); ++t) {
    in.require(block->terms[t] < n_terms && (t == 0 || block->terms[t - 1] < block->terms[t]),
               "a block's terms are out of order");
    const std::uint32_t begin = block->starts[t];
    const std::uint32_t end = block->starts[t + 1];
    in.require(begin < end && end <= block->postings.size(), "a block's starts are out of order");
    bool good = true;
    for (std::uint32_t i = begin; good && i < end; ++i) {
      const Posting p = block->postings[i];
      // Equal lengths also rule out a mean length of 0 beside postings.
      good = posting_doc(p) < block->n_docs() && posting_code(p) < block->codes.size() &&
             (i == begin || posting_doc(block->postings[i - 1]) < posting_doc(p)) &&
             block->codes[posting_code(p)].length == block->lengths[posting_doc(p)];
    }
    in.require(good, "a posting is out of bounds, out of order or of another length than its document");
  }
  return block;
}

struct Piece {
  const void* data;
  std::size_t bytes;
};

template <class T>
Piece piece(const Array<T>& array) {
  return {array.data(), array.bytes()};
}

}  // namespace

void save_index(const State& state, const std::string& tokenizer, const std::string& path) {
  if (tokenizer.size() >= kNameBytes) throw InputError("tokenizer: its name has more than 63 bytes");
  std::vector<Piece> pieces = {piece(state.vocabulary->slots()), piece(state.vocabulary->offsets()),
                               piece(state.vocabulary->bytes())};
  for (const auto& block : state.blocks) {
    for (const Piece& part : {piece(block->lengths), piece(block->codes), piece(block->terms),
                              piece(block->starts), piece(block->postings)}) {
      pieces.push_back(part);
    }
  }
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.variant = static_cast<std::uint32_t>(state.params.variant);
  header.k1 = state.params.k1;
  header.b = state.params.b;
  header.delta = state.params.delta;
  header.epsilon = state.params.epsilon;
  header.n_blocks = state.blocks.size();
  std::memcpy(header.tokenizer, tokenizer.data(), tokenizer.size());

  std::vector<Section> table;
  std::uint64_t offset = aligned(sizeof header + pieces.size() * sizeof(Section));
  for (const Piece& part : pieces) {
    table.push_back({offset, part.bytes, xxh64(part.data, part.bytes)});
    header.file_bytes = offset + part.bytes;
    offset = aligned(header.file_bytes);
  }
  header.checksum = header_checksum(header, table);

  static constexpr std::array<char, kAlign> kZeros{};
  AtomicFile file(path);
  file.write(&header, sizeof header);
  file.write(table.data(), table.size() * sizeof(Section));
  std::uint64_t at = sizeof header + table.size() * sizeof(Section);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    file.write(kZeros.data(), static_cast<std::size_t>(table[i].offset - at));
    file.write(pieces[i].data, pieces[i].bytes);
    at = table[i].offset + table[i].bytes;
  }
  file.commit();
}

IndexFile load_index(const std::string& path, int threads) {
  Reader in(path);
  const Header header = in.header();
  in.check_sections(threads);
  Params params;
  in.require(header.variant <= static_cast<std::uint32_t>(Variant::bm25plus), "unknown variant");
  params.variant = static_cast<Variant>(header.variant);
  params.k1 = header.k1;
  params.b = header.b;
  params.delta = header.delta;
  params.epsilon = header.epsilon;
  try {
    params.check();
  } catch (const InputError& error) {
    in.fail(std::string("the index file is damaged: ") + error.what());
  }
  in.require(std::memchr(header.tokenizer, 0, kNameBytes) != nullptr, "the tokenizer's name has no end");
  for (const char* c = header.tokenizer; *c != 0; ++c) {
    in.require(*c > ' ' && *c <= '~', "the tokenizer's name is not one");
  }

  const auto vocabulary = read_vocabulary(in, threads);
  std::vector<std::shared_ptr<const Block>> blocks(static_cast<std::size_t>(header.n_blocks));
  parallel_for(blocks.size(), threads, [&](std::size_t b, int) {
    blocks[b] = read_block(in, kVocabularySections + kBlockSections * b, vocabulary->size());
  });
  try {
    return {make_state(params, vocabulary, std::move(blocks), threads), header.tokenizer};
  } catch (const InputError& error) {
    in.fail(std::string("the index file is damaged: ") + error.what());
  }
}

}  // namespace sqe::bm25
