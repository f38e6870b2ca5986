#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "model/crf/crf_model.h"

namespace selfnorm {
namespace {

class SequencesCheck {
 public:
  SequencesCheck(const Sequences& data, const CrfShape& shape, const char* role)
      : data_(data), shape_(shape), role_(role) {}

  void run(NeededLabels needed) const {
    if (data_.sentence_begin.empty() || data_.sentences() == 0) fail("no sentences", "at least one");
    if (data_.sentence_begin.front() != 0) fail("a first sentence that does not begin at 0", "0");
    for (uint64_t i = 0; i < data_.sentences(); ++i)
      if (data_.sentence_begin[i] >= data_.sentence_begin[i + 1])
        fail(fmt::format("sentence {} without tokens", i + 1), "at least one token");
    rows(data_.unigram, "unigram", shape_.unigrams, false);
    rows(data_.bigram, "bigram", shape_.bigrams, true);
    labels(needed);
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw_error("{}: found {}, expected {}", role_, found, expected);
  }

  void rows(const AttributeRows& rows, const char* kind, uint64_t attributes, bool may_be_absent) const {
    const bool absent = may_be_absent && rows.begin.size() == 1 && rows.attribute.empty();
    if (absent) return;
    if (rows.begin.size() != data_.positions() + 1)
      fail(fmt::format("{} rows of {} attributes", rows.begin.size() - 1, kind),
           fmt::format("{}, one a token", data_.positions()));
    if (rows.begin.front() != 0 || rows.begin.back() != rows.attribute.size() ||
        !std::is_sorted(rows.begin.begin(), rows.begin.end()))
      fail(fmt::format("{} rows that do not cover their attributes", kind), "increasing offsets from 0");
    if (!rows.value.empty() && rows.value.size() != rows.attribute.size())
      fail(fmt::format("{} values for {} {} attributes", rows.value.size(), rows.attribute.size(), kind),
           "as many, or none");
    for (const uint32_t a : rows.attribute)
      if (a >= attributes)
        fail(fmt::format("{} attribute {}", kind, a), fmt::format("numbers below {}", attributes));
    if (!std::all_of(rows.value.begin(), rows.value.end(), [](float v) { return std::isfinite(v); }))
      fail(fmt::format("a value of a {} attribute that is not finite", kind), "finite values");
  }

  void labels(NeededLabels needed) const {
    if (data_.label.size() != data_.positions())
      fail(fmt::format("{} labels", data_.label.size()), fmt::format("{}, one a token", data_.positions()));
    const uint64_t labels = shape_.labels + (needed == NeededLabels::known ? 0 : data_.unseen.labels.size());
    for (uint64_t t = 0; t < data_.label.size(); ++t) {
      if (data_.label[t] < labels || (data_.label[t] == kNoLabel && needed == NeededLabels::none)) continue;
      fail(data_.label[t] == kNoLabel ? fmt::format("token {} without a label", t + 1)
                                      : fmt::format("label {}", data_.label[t]),
           fmt::format("one of the {} labels of the model on every token", shape_.labels));
    }
  }

  const Sequences& data_;
  const CrfShape& shape_;
  const char* role_;
};

}  // namespace

void check_sequences(const Sequences& data, const CrfShape& shape, const char* role, NeededLabels needed) {
  SequencesCheck(data, shape, role).run(needed);
}

}  // namespace selfnorm
