// Which options do nothing with the rest of what was given.
#pragma once

#include <string>
#include <vector>

#include "grammar/arguments.h"

namespace selfnorm::cli {

class Applicability {
 public:
  using Words = std::vector<std::string>;

  // Keeps a reference.
  explicit Applicability(const Arguments& arguments) : arguments_(arguments) {}

  // Whether an option ("--alpha") was given a value of its own.
  bool has(const std::string& option) const { return arguments_.changed.contains(option); }

  // Unless `applies`, throws Error for the first of `options` that was given: it belongs to `owner`
  // ("--objective dsm"), and `found` is what was given instead.
  void require(const Words& options, bool applies, const std::string& owner, const std::string& found) const;
  // Throws Error "OPTION: WHY" for the first of `options` that was given.
  void refuse(const Words& options, const std::string& why) const;
  // Throws Error for an option that is for models of other families; `model` is "run is a density".
  void refuse_foreign(const std::string& family, const std::string& model) const;

 private:
  const Arguments& arguments_;
};

}  // namespace selfnorm::cli
