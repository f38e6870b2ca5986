#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/data/string_index.h"
#include "selfnorm/model/model_file.h"
#include "stored_crf.h"

namespace selfnorm {
namespace {

class CrfCheck {
 public:
  CrfCheck(const CrfModel& model, const std::string& name) : model_(model), name_(name) {}

  void run() const {
    const SequenceEncoder& encoder = model_.encoder;
    const CrfShape& shape = model_.shape;
    names(encoder.labels, "labels", shape.labels);
    names(encoder.unigrams, "unigram attributes", shape.unigrams);
    names(encoder.bigrams, "bigram attributes", shape.bigrams);
    if (shape.labels < 2) fail(fmt::format("{} label(s)", shape.labels), "at least two");
    if (encoder.has_transitions != shape.has_transitions)
      fail("an encoder and parameters that differ in transitions", "the same in both");
    if (model_.theta.size() != shape.size())
      fail(fmt::format("{} parameters", model_.theta.size()), fmt::format("{}", shape.size()));
    finite(model_.theta, "parameters");
    normalizer();
    templates();
    check_metadata_json(name_, "objective", model_.objective_json);
    check_metadata_json(name_, "training", model_.training_json);
    check_metadata_json(name_, "audit", model_.audit_json);
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw Error(fmt::format("{}: found {}, expected {}", name_, found, expected));
  }

  void finite(const std::vector<float>& values, const char* what) const {
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
      fail(fmt::format("{} that are not finite", what), "finite numbers");
  }

  void names(const std::vector<std::string>& list, const char* what, uint64_t n) const {
    if (list.size() != n) fail(fmt::format("{} {}", list.size(), what), fmt::format("{}", n));
    StringIndex seen;
    for (const std::string& text : list) {
      const uint32_t before = seen.size();
      seen.add(text);
      if (seen.size() == before) fail(fmt::format("'{}' twice among the {}", text, what), "different ones");
    }
  }

  void normalizer() const {
    const CrfNormalizer& b = model_.normalizer;
    if (!std::isfinite(b.per_position) || !std::isfinite(b.per_sentence))
      fail("a normalizer that is not finite", "finite numbers");
    if (!b.exists && (b.per_position != 0 || b.per_sentence != 0 || !b.slope.empty()))
      fail("the numbers of a normalizer that does not exist", "none");
    if (!b.slope.empty() && b.slope.size() != model_.shape.unigrams)
      fail(fmt::format("{} slopes of the normalizer", b.slope.size()),
           fmt::format("{}, or none", model_.shape.unigrams));
    finite(b.slope, "slopes of the normalizer");
  }

  void templates() const {
    const SequenceEncoder& encoder = model_.encoder;
    if (encoder.format == SequenceFormat::automatic) fail("an open format of the data", "a known one");
    if (encoder.format == SequenceFormat::attributes) {
      if (!encoder.templates.list.empty()) fail("templates of attribute files", "none");
      return;
    }
    if (encoder.target >= encoder.columns || encoder.templates.columns() > encoder.columns)
      fail(fmt::format("target column {} and templates of {} columns", encoder.target + 1,
                       encoder.templates.columns()),
           fmt::format("columns among the {} of the data", encoder.columns));
  }

  const CrfModel& model_;
  const std::string& name_;
};

}  // namespace

void check_crf(const CrfModel& model, const std::string& name) { CrfCheck(model, name).run(); }

}  // namespace selfnorm
