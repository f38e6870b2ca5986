// Tokenised text as a stream: one sentence a line, words separated by ASCII white space, case kept. Memory is
// one buffer and one word, however long the lines are.
//     a carriage return is white space, so CRLF ends a line too; an empty line is an empty sentence; a byte
//     order mark at the start is left out
//     bytes that are not UTF-8 become U+FFFD
//     a word of more than kLongestWord bytes becomes the unknown word
// A NUL byte is an error (this is not text), and so are the words <s> and </s>, which bound sentences.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace selfnorm {

inline constexpr std::string_view kUnknownWord = "<unk>", kEndWord = "</s>", kStartWord = "<s>";
inline constexpr size_t kLongestWord = 65536;

class Input;

class SentenceReader {
 public:
  // A file, gzip-compressed or not; "-" is standard input. Throws Error when it cannot be read.
  explicit SentenceReader(const std::string& path);
  ~SentenceReader();

  SentenceReader(const SentenceReader&) = delete;
  SentenceReader& operator=(const SentenceReader&) = delete;

  enum class Token { kWord, kSentenceEnd, kTextEnd };
  // Throws DataError naming the line.
  Token next();
  // Of the last kWord; valid until the next call.
  std::string_view word() const { return word_; }
  const std::string& name() const { return name_; }
  // From 1; of a kSentenceEnd the line that it ended.
  uint64_t line() const { return line_; }

 private:
  bool fill();
  void take_word();
  std::string_view part_of_word();

  std::unique_ptr<Input> input_;
  std::string name_;
  std::string buffer_;
  size_t at_ = 0, end_ = 0;  // what is left of the buffer
  uint64_t line_ = 1;
  bool is_line_open_ = false;   // something stands after the last line feed
  bool is_line_ended_ = false;  // the last token was kSentenceEnd
  std::string parts_;           // a word that the end of the buffer cut
  std::string repaired_;
  std::string_view word_;
};

}  // namespace selfnorm
