#include "grammar/applicability.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/changed_options.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {

bool is_one_of(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Applicability::Applicability(const Arguments& arguments) : changed_(changed_options(arguments)) {}

void Applicability::require(const Words& options, bool applies, const std::string& owner,
                            const std::string& found) const {
  if (applies) return;
  for (const std::string& option : options)
    if (has(option))
      throw Error(
          fmt::format("{} belongs to {}, found {}; leave it out or change that", option, owner, found));
}

}  // namespace selfnorm::cli
