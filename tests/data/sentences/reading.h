// What tests of sequence readers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/reader_checks.h"
#include "data/sentences/read_sequences.h"

namespace selfnorm {

using Strings = std::vector<std::string>;
using Numbers = std::vector<uint32_t>;
using std::string_literals::operator""s;

inline constexpr const char* kColumns = "#\tSYM\n1\tNUM\n\n\n \t\nthe\tDET\ndog\tNOUN\n";
inline constexpr const char* kConllu =
    "# sent_id = 1\n# text = a b c d e f g\n"
    "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tde\tde\tADP\tP\t_\t3\tcase\t_\t_\n"
    "2\tle\tle\tDET\tD\t_\t3\tdet\t_\t_\n"
    "2.1\tun\t_\tDET\tD\t_\t_\t_\t_\t_\n\n"
    "# only a comment\n"
    "1\t#\t#\tSYM\tS\t_\t0\troot\t_\t_\n";
inline constexpr const char* kAttributes = "A\tw=a\tn:2.5\tw=a\nB\tw\\:b:0.5\n\nA\tx\\\\y\tw=a\tz\n";

struct Reading {
  Scratch scratch;
  SequenceOptions options = {};

  SequenceRead learn(std::string_view text) const {
    return learn_sequences(scratch.file("d", text), options);
  }
  // The message, without the folder of the file.
  std::string error(std::string_view text) const {
    return message([&] { learn(text); });
  }
  std::string read_error(std::string_view text, const SequenceEncoder& encoder, bool require_labels) const {
    return message([&] { read_sequences(scratch.file("d", text), encoder, require_labels); });
  }
  template <class Call>
  std::string message(Call call) const {
    try {
      call();
    } catch (const Error& e) {
      std::string what = e.what();
      for (size_t at; (at = what.find(scratch.path(""))) != std::string::npos;)
        what.erase(at, scratch.path("").size());
      return what;
    }
    return "";
  }
};

}  // namespace selfnorm
