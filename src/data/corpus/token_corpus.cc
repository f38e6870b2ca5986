#include "data/corpus/token_corpus.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/failure.h"
#include "data/corpus/sentence_reader.h"
#include "math/random.h"

namespace selfnorm {
namespace {

// Where the file system knows no nameless files, one whose name is taken away at once.
int open_nameless(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  std::string name = folder + "/.tokens-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

// All n bytes by calls of pread or pwrite, which may do a part or be interrupted.
template <class Call>
bool transfer(size_t n, const Call& call) {
  for (size_t done = 0; done < n;) {
    const ssize_t more = call(done, n - done);
    if (more == 0) return false;
    if (more < 0 && errno != EINTR) return false;
    done += more > 0 ? static_cast<size_t>(more) : 0;
  }
  return true;
}

}  // namespace

// Numbers of words, four bytes each, in a file without a name: it goes with the process, however that ends.
class TokenFile {
 public:
  // In this folder. Every call throws Error naming it and the system's reason (disk full, ...).
  explicit TokenFile(std::string folder) : folder_(std::move(folder)), descriptor_(open_nameless(folder_)) {
    if (descriptor_ < 0) fail("make");
    buffer_.reserve(kBufferTokens);
  }
  ~TokenFile() {
    if (map_ != nullptr) ::munmap(map_, size_ * sizeof(uint32_t));
    ::close(descriptor_);
  }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  void append(uint32_t token) {
    buffer_.push_back(token);
    if (buffer_.size() == kBufferTokens) flush();
  }
  // Every token t becomes number[t].
  void renumber(std::span<const uint32_t> number) {
    flush();
    const uint64_t all = size_;
    for (size_ = 0; size_ < all;) {
      buffer_.resize(std::min<uint64_t>(kBufferTokens, all - size_));
      char* bytes = reinterpret_cast<char*>(buffer_.data());
      const auto place = static_cast<off_t>(size_ * sizeof(uint32_t));
      const bool is_read = transfer(buffer_.size() * sizeof(uint32_t), [&](size_t done, size_t n) {
        return ::pread(descriptor_, bytes + done, n, place + static_cast<off_t>(done));
      });
      if (!is_read) fail("read");
      for (uint32_t& token : buffer_) token = number[token];
      flush();
    }
  }
  // All of them, mapped; nothing is appended any more. Valid as long as this object.
  std::span<const uint32_t> tokens() {
    if (map_ == nullptr) {
      flush();
      if (size_ == 0) return {};
      map_ = ::mmap(nullptr, size_ * sizeof(uint32_t), PROT_READ, MAP_SHARED, descriptor_, 0);
      if (map_ == MAP_FAILED) {
        map_ = nullptr;
        fail("map");
      }
    }
    return {static_cast<const uint32_t*>(map_), size_};
  }

 private:
  static constexpr size_t kBufferTokens = size_t{1} << 16;

  void flush() {
    const char* bytes = reinterpret_cast<const char*>(buffer_.data());
    const auto place = static_cast<off_t>(size_ * sizeof(uint32_t));
    const bool is_written = transfer(buffer_.size() * sizeof(uint32_t), [&](size_t done, size_t n) {
      return ::pwrite(descriptor_, bytes + done, n, place + static_cast<off_t>(done));
    });
    if (!is_written) fail("write");
    size_ += buffer_.size();
    buffer_.clear();
  }
  [[noreturn]] void fail(const char* action) const {
    throw_error("cannot {} a file of tokens in {}: {}", action, folder_, std::strerror(errno));
  }

  std::string folder_;
  int descriptor_ = -1;
  uint64_t size_ = 0;  // tokens in the file
  std::vector<uint32_t> buffer_;
  void* map_ = nullptr;
};

namespace {

constexpr double kFarAway = 1e15;                        // sentences that no text has
constexpr uint64_t kHeldOutStream = 0x68656c646f757400;  // "heldout"

// Of each run of sentences, ceil(j / f) to ceil((j + 1) / f) - 1, one is held out, never the first of all.
class HeldOutSentences {
 public:
  HeldOutSentences(double fraction, uint64_t seed) : fraction_(fraction), seed_(seed) {}

  // Asked for s = 0, 1, 2, ... in order.
  bool contains(uint64_t sentence) {
    if (fraction_ == 0) return false;
    if (sentence == end_) choose();
    return sentence == chosen_;
  }

 private:
  void choose() {
    const uint64_t begin = end_, first = std::max<uint64_t>(begin, 1);
    const double end = std::ceil(static_cast<double>(run_ + 1) / fraction_);
    end_ = std::max(begin + 1,
                    end < kFarAway ? static_cast<uint64_t>(end) : begin + static_cast<uint64_t>(kFarAway));
    chosen_ = first + RandomStream(seed_, kHeldOutStream + run_++).below(end_ - first);
  }

  double fraction_;
  uint64_t seed_;
  uint64_t run_ = 0, end_ = 0, chosen_ = 0;
};

[[noreturn]] void refuse_vocabulary(const std::string& name, const StringIndex& words, uint64_t min_count) {
  if (words.size() <= WordVocabulary::kEnd + 1)
    throw DataError(name, 0,
                    "found no words; expected text, a sentence a line, words separated by white space: write "
                    "it again, or give another file");
  throw_at(name, 0, "no word occurs {} times or more; lower `min-count`", min_count);
}

}  // namespace

TokenCorpus::TokenCorpus(std::shared_ptr<TokenFile> file, uint32_t vocabulary)
    : file_(std::move(file)), tokens_(file_->tokens()), counts_(vocabulary) {
  for (const uint32_t token : tokens_) ++counts_[token];
}

void TokenCorpus::context(uint64_t i, std::span<uint32_t> out) const {
  size_t left = out.size();
  while (left > 0 && i > 0 && tokens_[i - 1] != WordVocabulary::kEnd) out[--left] = tokens_[--i];
  while (left > 0) out[--left] = vocabulary();
}

std::string TokenCorpus::fingerprint() const {
  const uint64_t start = hash_bytes(fmt::format("{} {}", vocabulary(), tokens_.size()));
  return fmt::format("{:016x}", hash_words(start, tokens_));
}

TokenCorpus read_corpus(const std::string& path, const WordVocabulary& vocabulary,
                        const std::string& folder) {
  SentenceReader reader(path);
  auto file = std::make_shared<TokenFile>(folder);
  using Token = SentenceReader::Token;
  for (Token token = reader.next(); token != Token::kTextEnd; token = reader.next())
    file->append(token == Token::kWord ? vocabulary.number(reader.word()) : WordVocabulary::kEnd);
  if (file->tokens().empty())
    throw DataError(reader.name(), 0,
                    "found no text; expected a sentence a line: write it again, or give another file");
  return {std::move(file), vocabulary.size()};
}

LearnedCorpus learn_corpus(const std::string& path, const CorpusOptions& options, const std::string& folder) {
  options.vocabulary.validate();
  require_range(options.hold_out >= 0 && options.hold_out <= 0.5, "hold-out", options.hold_out, "0 to 0.5");
  SentenceReader reader(path);
  const auto train = std::make_shared<TokenFile>(folder), valid = std::make_shared<TokenFile>(folder);
  HeldOutSentences held_out(options.hold_out, options.seed);
  StringIndex words({std::string(kUnknownWord), std::string(kEndWord)});
  std::vector<uint64_t> counts(words.size());  // in the sentences not held out
  uint64_t sentence = 0;
  bool is_held_out = held_out.contains(0);
  using Token = SentenceReader::Token;
  for (Token token = reader.next(); token != Token::kTextEnd; token = reader.next()) {
    const bool is_end = token == Token::kSentenceEnd;
    const uint32_t number = is_end ? WordVocabulary::kEnd : words.add(reader.word());
    if (number == counts.size()) counts.push_back(0);
    (is_held_out ? *valid : *train).append(number);
    if (!is_held_out) ++counts[number];
    if (is_end) is_held_out = held_out.contains(++sentence);
  }
  const std::vector<uint32_t> kept = frequent_words(words, counts, options.vocabulary);
  if (kept.size() <= WordVocabulary::kEnd + 1)
    refuse_vocabulary(reader.name(), words, options.vocabulary.min_count);
  std::vector<uint32_t> number(words.size(), WordVocabulary::kUnknown);
  std::vector<std::string> names;
  for (const uint32_t word : kept) {
    number[word] = static_cast<uint32_t>(names.size());
    names.emplace_back(words[word]);
  }
  train->renumber(number);
  valid->renumber(number);
  LearnedCorpus out{WordVocabulary(names), {train, static_cast<uint32_t>(names.size())}, std::nullopt};
  if (!valid->tokens().empty()) out.held_out.emplace(valid, out.vocabulary.size());
  return out;
}

}  // namespace selfnorm
