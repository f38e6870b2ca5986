#include "selfnorm/option_list.h"

#include <algorithm>
#include <type_traits>

#include "api/training_options.h"
#include "audit/error_audit.h"
#include "base/failure.h"
#include "base/option_table.h"
#include "family/classifier/choice.h"
#include "family/density/density_sample.h"
#include "family/density/train/density_options.h"
#include "family/regressor/train/regressor_options.h"

namespace selfnorm {
namespace {

template <class T>
std::string type_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_integral_v<T>) return "int";
  if constexpr (std::is_floating_point_v<T>) return "float";
  if constexpr (std::is_same_v<T, std::string>) return "str";
  if constexpr (std::is_same_v<T, std::optional<double>>) return "auto";
  if constexpr (requires { typename T::value_type; }) return type_name<typename T::value_type>() + "s";
}

std::vector<OptionDescription> described(const OptionTable& table) {
  std::vector<OptionDescription> out;
  for (const Option& option : table.rows()) {
    const std::string range = option.range();
    out.push_back(
        {.name = option.name,
         .initial = option.value(),
         .type = std::visit([](const auto* f) { return type_name<std::remove_cvref_t<decltype(*f)>>(); },
                            option.field),
         .help = (option.readers.empty() ? "" : option.readers + ": ") + option.text +
                 (range.empty() ? "" : "; " + range),
         .choices = option.choices});
  }
  return out;
}

template <class Of>
std::vector<OptionDescription> initial(OptionTable (*table)(Of&)) {
  Of options;
  return described(table(options));
}

}  // namespace

std::vector<OptionDescription> option_list(const std::string& table) {
  if (table == "classifier") {
    std::vector<OptionDescription> out = initial<ClassifierOptions>(classifier_option_table);
    for (OptionDescription& option : out)
      option.chooses = std::ranges::find(choosing_options(), option.name) != choosing_options().end();
    return out;
  }
  if (table == "lm") {
    LanguageOptions options;
    TrainingLadder ladder;
    return described(language_model_option_table(options, ladder));
  }
  if (table == "density") return initial<DensityOptions>(density_option_table);
  if (table == "regressor") return initial<RegressorOptions>(regressor_option_table);
  if (table == "crf") return initial<CrfTrainOptions>(crf_option_table);
  if (table == "audit") return initial<AuditOptions>(audit_option_table);
  if (table == "sample") return initial<DensitySampleOptions>(sample_option_table);
  throw_error("found the table '{}'; expected classifier, lm, density, regressor, crf, audit or sample",
              table);
}

void name_options_as_keywords() { name_options_as(OptionStyle::keyword); }

}  // namespace selfnorm
