// The line before a labelling that says whose it is: "# sentence=I rank=R", and " log_prob=X kind=KIND" where
// it has been scored. `tag` writes it, readers of sentences know it in every format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace selfnorm {

struct LabellingMark {
  struct Score {
    double log_prob;   // finite
    std::string kind;  // lower-case letters: raw, amortised, exact
  };
  uint64_t sentence = 0;  // from 0
  uint64_t rank = 1;      // from 1, the most probable
  std::optional<Score> score = {};
};

// Without the end of the line.
std::string mark_line(const LabellingMark& mark);
// Nothing unless `line` is such a line and nothing else.
std::optional<LabellingMark> parse_mark(std::string_view line);

}  // namespace selfnorm
