// Which options do nothing with the rest of what was given.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "grammar/arguments.h"

namespace selfnorm::cli {

class Applicability {
 public:
  using Words = std::vector<std::string>;

  explicit Applicability(const Arguments& arguments);

  // Whether an option ("--alpha") was given a value of its own.
  bool has(const std::string& option) const { return changed_.contains(option); }

  // Unless `applies`, throws Error for the first of `options` that was given: it belongs to `owner`
  // ("--objective dsm"), and `found` is what was given instead.
  void require(const Words& options, bool applies, const std::string& owner, const std::string& found) const;

 private:
  std::set<std::string> changed_;
};

bool is_one_of(const std::string& word, const std::vector<std::string>& words);

}  // namespace selfnorm::cli
