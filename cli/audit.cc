#include <algorithm>
#include <charconv>
#include <set>

#include "base/failure.h"
#include "classifier/audit_report.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "data/input/source.h"
#include "document/section/audit_section.h"
#include "family/classifier/normalize/ladder_drift.h"
#include "gpu/device.h"
#include "grammar/option_list.h"
#include "output.h"
#include "run/model_document.h"
#include "run/progress_line.h"

namespace selfnorm::cli {
namespace {

constexpr const char* kExample = "as in 'eps=0.1,rho=0.01,conf=0.99'";

// "eps=0.1,rho=0.01,conf=0.99", in any order; what is not named keeps its value.
void apply_requirement(const std::string& text, AuditOptions& options) {
  std::set<double*> seen;
  const auto fail = [&text](const std::string& found, const std::string& expected) {
    throw_error("--require '{}': found {}, expected {}", text, found, expected);
  };
  for (std::string item : listed_words(text)) {
    std::erase(item, ' ');
    const size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    double* place = key == "eps"                           ? &options.eps
                    : key == "rho"                         ? &options.rho
                    : key == "conf" || key == "confidence" ? &options.confidence
                                                           : nullptr;
    if (place == nullptr || equals == std::string::npos)
      fail("'" + item + "'", fmt::format("eps=, rho= or conf=, {}", kExample));
    if (!seen.insert(place).second) fail(key + " twice", "it once");
    const std::string word = item.substr(equals + 1);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *place);
    if (error != std::errc() || end != word.data() + word.size())
      fail("'" + word + "'", fmt::format("a number, {}", kExample));
  }
}

}  // namespace

AuditOptions audit_options(const AuditArguments& given) {
  AuditOptions options = given.options;
  if (!given.require.empty()) apply_requirement(given.require, options);
  options.validate();
  return options;
}

int audit_classifier(const Arguments& arguments) {
  const AuditArguments& given = arguments.audit;
  AuditOptions options = audit_options(given);
  const AuditPlace place = audit_place(given);
  const std::string data = path_text(given.data);
  const AnyModel any(given.model, arguments.head);
  ReadOptions reading = arguments.reader.options;
  reading.keep_unseen = true;
  const auto whole = open_examples(any, given.data, reading, given.states_name);
  const ExampleSubset some(*whole, sampled_inputs(given, whole->examples()));
  const ExampleSource* const source = given.sample > 0 ? &some : whole.get();
  options.amortised = any.file().normalizer.exists() && !given.raw;
  const RowsPart part = audited_part(given);
  Audit result;
  {
    ProgressLine line(arguments.common.quiet);
    result = audit(any.file(), *source, options, [&](uint64_t done) {
      line.show({done, source->examples(), "inputs audited"});
    });
  }
  const char* kind = options.amortised ? "amortised" : "raw";
  const AuditNames names{.kind = kind,
                         .data = data,
                         .labels = any.file().labels,
                         .norm = norm_words(any.file()),
                         .part = part,
                         .is_requested = true};
  ReportDocument document = audit_heading(any.path(), data);
  document.cards.push_back({"model", "Model", model_words(any.file()), {}, any.path()});
  add_model_audit(result, names, any.file(), *source, document);
  AuditWords words{
      .json = {{"model", any.path()}, {"data", data}, {"kind", kind}},
      .text = fmt::format("{} scores of {} on {}: {} inputs, {} {}; log Z of each by enumeration\n\n", kind,
                          any.path(), data, grouped(result.n), grouped(result.classes),
                          any.file().family == Family::Joint ? "alternatives at most" : "classes") +
              audit_text(result, names)};
  words.json["log_normalizer"] = any.file().log_normalizer;
  words.json["device"] = used_device();
  words.json.update(audit_json(result));
  const std::vector<RungDrift> drift =
      given.sample > 0 ? ladder_drift(any.file(), *source) : std::vector<RungDrift>();
  return end_audit(arguments, {place, part, result.certificate, drift}, document, std::move(words));
}

}  // namespace selfnorm::cli
