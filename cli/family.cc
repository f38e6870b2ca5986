#include "family.h"

#include <algorithm>
#include <filesystem>

#include "base/failure.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "crf/crf_model.h"
#include "model/stored_record.h"
#include "processes.h"

namespace selfnorm::cli {
namespace {

CommandFamily crf_family() {
  return {.name = "crf",
          .noun = "a CRF",
          .owns = [](const FileIdentity& file) { return file.family == "chain"; },
          .training = crf_training,
          .info = crf_info,
          .commands = {{"evaluate", evaluate_crfs},
                       {"score", score_labellings},
                       {"audit", audit_crf_command},
                       {"normalize", normalize_crf_command},
                       {"tag", tag_sentences},
                       {"predict", predict_tags}},
          .refused = {{"bounds", "the bounds are of classifiers; 'selfnorm evaluate' gives rms log Z"},
                      {"sample", "'selfnorm tag --decode sample' draws labellings of sentences"}},
          .reads_sentences = true};
}

CommandFamily regressor_family() {
  return {
      .name = "regressor",
      .noun = "a regressor",
      .training = regressor_training,
      .info = regressor_info,
      .commands = {{"evaluate", evaluate_regressors},
                   {"score", score_regressor},
                   {"audit", audit_regressor},
                   {"predict", predict_targets}},
      .refused = {
          {"normalize",
           "its b(x) is fitted by 'selfnorm train regressor', and 'selfnorm audit' compares it with A(x)"},
          {"bounds", "the bounds are of classifiers; 'selfnorm evaluate' gives rms(b - A)"},
          {"sample", "what it draws depends on x: 'selfnorm predict MODEL DATA -n N' gives N for each row"}}};
}

CommandFamily density_family() {
  return {.name = "density",
          .noun = "a density, whose log Z is one number for all x",
          .training = density_training,
          .info = density_info,
          .commands = {{"evaluate", evaluate_densities},
                       {"score", score_points},
                       {"sample", sample_points},
                       {"predict", predict_points}},
          .refused = {
              {"audit", "'selfnorm evaluate' gives it with its error, beside the stored b"},
              {"normalize",
               "it is normalised by its b, which 'selfnorm train density' calibrates and 'selfnorm evaluate' "
               "compares with log Z"},
              {"bounds",
               "the bounds are of classifiers; 'selfnorm evaluate' gives the SNL bound of its likelihood"}}};
}

CommandFamily language_family() {
  return {.name = "lm",
          .noun = "a language model",
          .others = "are classifiers",
          .owns = [](const FileIdentity& file) { return file.input == "context"; },
          .training = language_training,
          .info = classifier_info,
          .commands = {{"evaluate", evaluate_language_models},
                       {"score", score_sentences},
                       {"audit", audit_classifier},
                       {"normalize", normalize_head},
                       {"bounds", bound_classifier},
                       {"predict", predict_words},
                       {"sample", sample_sentences}}};
}

// And the heads of other programs; what is no model at all is told by its reader.
CommandFamily classifier_family() {
  return {.name = "classifier",
          .noun = "a classifier",
          .owns = [](const FileIdentity&) { return true; },
          .training = classifier_training,
          .info = classifier_info,
          .commands = {{"evaluate", evaluate_classifiers},
                       {"score", score_candidates},
                       {"audit", audit_classifier},
                       {"normalize", normalize_head},
                       {"bounds", bound_classifier},
                       {"predict", predict_labels}},
          .shared = {"evaluate", "score", "audit"}};
}

// The last one owns what none before it does.
std::vector<CommandFamily>& registry() {
  static std::vector<CommandFamily> all = {crf_family(), regressor_family(), density_family(),
                                           language_family(), classifier_family()};
  return all;
}

size_t family_place(const std::string& model) {
  const FileIdentity identity = identity_of(finished_model_path(model));
  const auto& all = families();
  return static_cast<size_t>(std::find_if(all.begin(), all.end(),
                                          [&](const CommandFamily& f) {
                                            return f.owns ? f.owns(identity) : f.name == identity.family;
                                          }) -
                             all.begin());
}

// "a density" of "a density, whose log Z ..."
std::string short_noun(const CommandFamily& family) { return family.noun.substr(0, family.noun.find(',')); }

const CommandFamily& family_of(const std::vector<std::string>& models) {
  std::vector<size_t> places(models.size());
  std::transform(models.begin(), models.end(), places.begin(), family_place);
  const auto first = std::min_element(places.begin(), places.end());
  const CommandFamily& family = families()[*first];
  if (std::all_of(places.begin(), places.end(), [&](size_t p) { return p == *first; })) return family;
  throw_error("{} is {} and others {}; evaluate them apart",
              models[static_cast<size_t>(first - places.begin())], short_noun(family), family.others);
}

}  // namespace

void register_family(CommandFamily family) { registry().insert(registry().begin(), std::move(family)); }

const std::vector<CommandFamily>& families() { return registry(); }

const CommandFamily& family_named(const std::string& name) {
  for (const CommandFamily& family : families())
    if (family.name == name) return family;
  throw Bug("no family " + name);
}

int run_for_family(const Arguments& arguments, const std::vector<std::string>& models) {
  const std::string& command = arguments.command;
  const CommandFamily& family = family_of(models);
  if (const auto why = family.refused.find(command); why != family.refused.end())
    throw_error("{} is {}; {}", models[0], family.noun, why->second);
  if (const auto own = family.commands.find(command); own != family.commands.end()) {
    if (!family.reads_sentences) refuse_sentences(arguments, models[0]);
    arguments.refuse_foreign(family.name, fmt::format("{} is {}", models[0], short_noun(family)));
    if (std::ranges::find(family.shared, command) == family.shared.end())
      refuse_processes(arguments);
    else
      join_processes(arguments);
    return own->second(arguments);
  }
  refuse_processes(arguments);
  // A command of one other family, which knows best what is wrong with a file that is none of ours.
  for (const CommandFamily& owner : families()) {
    const auto own = owner.commands.find(command);
    if (own == owner.commands.end()) continue;
    const std::string path = finished_model_path(models[0]);
    if (!std::filesystem::is_regular_file(path)) return own->second(arguments);
    throw_error("{} is not {}; expected a model of 'selfnorm train {}'", path, short_noun(owner), owner.name);
  }
  throw Bug("no family has the command " + command);
}

nlohmann::ordered_json model_info(const Arguments& arguments) {
  const CommandFamily& family = families()[family_place(arguments.info_model)];
  if (family.info) return family.info(arguments);
  const std::string path = finished_model_path(arguments.info_model);
  return {{"path", path}, {"bytes", std::filesystem::file_size(path)}, {"family", family.name}};
}

}  // namespace selfnorm::cli
