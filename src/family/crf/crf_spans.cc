#include "family/crf/crf_spans.h"

#include <algorithm>

#include "data/string_index.h"

namespace selfnorm {
namespace {

constexpr uint32_t kNoType = UINT32_MAX;

// B, I, E or S; 0 for a label that is none of these and a dash.
char prefix_of(const std::string& label) {
  if (label.size() < 2 || label[1] != '-') return 0;
  constexpr std::string_view kLetters = "BIESLU", kPrefixes = "BIESES";
  const size_t place = kLetters.find(label[0]);
  return place == std::string_view::npos ? '\0' : kPrefixes[place];
}

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double SpanCounts::precision() const { return ratio(correct, predicted); }
double SpanCounts::recall() const { return ratio(correct, actual); }
double SpanCounts::f1() const { return ratio(2 * correct, predicted + actual); }

std::optional<SpanScheme> SpanScheme::of(const std::vector<std::string>& labels) {
  SpanScheme scheme;
  StringIndex types;
  for (const std::string& label : labels) {
    const char prefix = label == "O" ? 'O' : prefix_of(label);
    if (prefix == 0) return std::nullopt;
    scheme.prefix_.push_back(prefix);
    scheme.type_.push_back(prefix == 'O' ? kNoType : types.add(std::string_view(label).substr(2)));
  }
  if (types.size() == 0) return std::nullopt;
  scheme.types_ = types.strings();
  return scheme;
}

void SpanScheme::add(const std::string& label) {
  const char prefix = prefix_of(label);
  prefix_.push_back(prefix == 0 ? 'O' : prefix);
  type_.push_back(kNoType);
  if (prefix == 0) return;
  const auto found = std::find(types_.begin(), types_.end(), label.substr(2));
  type_.back() = static_cast<uint32_t>(found - types_.begin());
  if (found == types_.end()) types_.push_back(label.substr(2));
}

std::vector<LabelSpan> SpanScheme::spans(std::span<const uint32_t> labels) const {
  std::vector<LabelSpan> out;
  char before = 'O';
  uint32_t type_before = kNoType;
  bool is_open = false;
  for (uint64_t t = 0; t <= labels.size(); ++t) {
    const char here = t < labels.size() ? prefix_[labels[t]] : 'O';
    const uint32_t type = t < labels.size() ? type_[labels[t]] : kNoType;
    const bool closed = before == 'E' || before == 'S';
    const bool ends = closed || here == 'B' || here == 'S' || here == 'O' || type != type_before;
    if (is_open && ends) {
      out.back().end = t;
      is_open = false;
    }
    const bool begins =
        here == 'B' || here == 'S' || (here != 'O' && (closed || before == 'O')) || type != type_before;
    if (here != 'O' && begins) {
      out.push_back({t, t, type});
      is_open = true;
    }
    before = here;
    type_before = type;
  }
  return out;
}

void SpanScheme::count(std::span<const uint32_t> actual, std::span<const uint32_t> predicted,
                       std::vector<SpanCounts>& by_type) const {
  by_type.resize(types_.size());
  const std::vector<LabelSpan> truth = spans(actual), found = spans(predicted);
  for (const LabelSpan& span : truth) ++by_type[span.type].actual;
  for (const LabelSpan& span : found) {
    ++by_type[span.type].predicted;
    if (std::binary_search(truth.begin(), truth.end(), span)) ++by_type[span.type].correct;
  }
}

}  // namespace selfnorm
