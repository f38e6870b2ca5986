#include "data/corpus/sentence_reader.h"

#include <array>

#include "base/failure.h"
#include "data/input/characters.h"
#include "data/input/source.h"

namespace selfnorm {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

constexpr auto kIsSpace = [] {
  std::array<bool, 256> is{};
  for (const unsigned char c : {' ', '\t', '\n', '\v', '\f', '\r'}) is[c] = true;
  return is;
}();

bool is_space(char c) { return kIsSpace[static_cast<unsigned char>(c)]; }

}  // namespace

SentenceReader::SentenceReader(const std::string& path)
    : input_(Input::open(path, Headers::none)), name_(input_->name()), buffer_(kBufferBytes, '\0') {
  input_->skip_byte_order_mark();
}

SentenceReader::~SentenceReader() = default;

// More text in the buffer, of which nothing is left; false at the end of the text.
bool SentenceReader::fill() {
  at_ = 0;
  end_ = input_->read(buffer_.data(), buffer_.size());
  return end_ > 0;
}

SentenceReader::Token SentenceReader::next() {
  if (is_line_ended_) ++line_;
  is_line_ended_ = false;
  for (;;) {
    while (at_ < end_ && buffer_[at_] != '\n' && is_space(buffer_[at_])) {
      is_line_open_ = true;
      ++at_;
    }
    if (at_ == end_) {
      if (fill()) continue;
      if (!is_line_open_) return Token::kTextEnd;
    } else if (buffer_[at_] != '\n') {
      is_line_open_ = true;
      take_word();
      return Token::kWord;
    } else {
      ++at_;
    }
    is_line_open_ = false;
    is_line_ended_ = true;
    return Token::kSentenceEnd;
  }
}

void SentenceReader::take_word() {
  word_ = part_of_word();
  bool is_long = word_.size() > kLongestWord;
  if (at_ == end_) {
    parts_ = word_;
    while (at_ == end_ && fill()) {
      const std::string_view more = part_of_word();
      is_long |= parts_.size() + more.size() > kLongestWord;
      if (!is_long) parts_ += more;
    }
    word_ = parts_;
  }
  if (is_long) word_ = kUnknownWord;
  if (word_ == kStartWord || word_ == kEndWord)
    throw_at(name_, line_,
             "found the word {}, which stands for a boundary of sentences; expected a sentence a line, "
             "without marks",
             word_);
  if (!is_well_formed(word_)) {
    repaired_ = utf8_repaired(word_);
    word_ = repaired_;
  }
}

// The word at the start of what is left of the buffer, up to its end.
std::string_view SentenceReader::part_of_word() {
  const size_t begin = at_;
  while (at_ < end_ && !is_space(buffer_[at_])) ++at_;
  const std::string_view part = std::string_view(buffer_).substr(begin, at_ - begin);
  if (part.find('\0') != std::string_view::npos)
    throw DataError(name_, line_, "found a NUL byte, expected text in UTF-8, a sentence a line");
  return part;
}

}  // namespace selfnorm
