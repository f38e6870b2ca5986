#include "grammar/arguments.h"

#include <algorithm>

#include "base/failure.h"
#include "grammar/option_list.h"

namespace selfnorm::cli {
namespace {

// "densities and regressors" of "density,regressor"
std::string plural(const std::string& families) {
  static const std::map<std::string, std::string> nouns = {{"classifier", "classifiers"},
                                                           {"lm", "language models"},
                                                           {"density", "densities"},
                                                           {"regressor", "regressors"},
                                                           {"crf", "chains"}};
  std::string out;
  const std::vector<std::string> words = listed_words(families);
  for (size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + nouns.at(words[i]);
  return out;
}

}  // namespace

bool Arguments::has_named(const std::vector<std::string>& names) const {
  return std::ranges::any_of(names, [this](const std::string& name) { return named.contains(name); });
}

void Arguments::require(const std::vector<std::string>& names, bool applies, const std::string& owner,
                        const std::string& found) const {
  if (applies) return;
  for (const std::string& option : names)
    if (has(option))
      throw_error("{} belongs to {}, found {}; leave it out or change that", option, owner, found);
}

void Arguments::refuse(const std::vector<std::string>& names, const std::string& why) const {
  for (const std::string& option : names)
    if (has(option)) throw_error("{}: {}", option, why);
}

void Arguments::refuse_foreign(const std::string& family, const std::string& model) const {
  for (const auto& [option, families] : changed) {
    const std::vector<std::string> words = listed_words(families);
    if (!words.empty() && std::ranges::find(words, family) == words.end())
      throw_error("{}: {}; it is for {}", option, model, plural(families));
  }
}

}  // namespace selfnorm::cli
