// Spans of labels in the schemes IOB, IOB2 and IOBES, by the rules of conlleval: of neighbouring labels p-P
// and q-Q (prefix and type; O and the ends of a sentence have neither),
//     a span ends after p when p is E or S, or q is B, S or O, or P differs from Q,
//     a span begins at q when q is B or S, or p is E, S or O and q is I or E, or P differs from Q.
// BILOU is IOBES with other letters: L is E, U is S.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

struct LabelSpan {
  uint64_t begin = 0, end = 0;  // positions begin .. end-1
  uint32_t type = 0;

  auto operator<=>(const LabelSpan&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct SpanCounts {
  uint64_t correct = 0, predicted = 0, actual = 0;

  double precision() const;  // 0 when nothing was predicted
  double recall() const;     // 0 when there was nothing to find
  double f1() const;         // 2 correct / (predicted + actual); 0 without spans
};

class SpanScheme {
 public:
  // None unless every label is O or a prefix of the schemes, a dash and a type, and one of them has a type.
  static std::optional<SpanScheme> of(const std::vector<std::string>& labels);

  // One more label, which gold labellings have; what is no label of the scheme is O.
  void add(const std::string& label);

  const std::vector<std::string>& types() const { return types_; }
  // In increasing order.
  std::vector<LabelSpan> spans(std::span<const uint32_t> labels) const;
  // Adds the spans of one sentence; a predicted one is correct when both ends and the type are.
  void count(std::span<const uint32_t> actual, std::span<const uint32_t> predicted,
             std::vector<SpanCounts>& by_type) const;

 private:
  std::vector<char> prefix_;    // of a label: O B I E S
  std::vector<uint32_t> type_;  // of a label
  std::vector<std::string> types_;
};

}  // namespace selfnorm
