#include "labels.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace selfnorm {
namespace {

std::optional<int64_t> integer(std::string_view label) {
  label = label_key(label);
  int64_t value = 0;
  auto [end, code] = std::from_chars(label.data(), label.data() + label.size(), value);
  bool whole = code == std::errc() && end == label.data() + label.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

uint32_t LabelTable::add(std::string_view label) {
  uint32_t number = keys_.add(label_key(label));
  if (number == spellings_.size()) spellings_.emplace_back(label);
  return number;
}

LabelRule::LabelRule(const ReadOptions& options)
    : require_(options.require_labels), keep_unseen_(options.keep_unseen) {
  if (options.schema) known_.emplace(options.schema->labels);
}

std::string LabelRule::number(std::string_view label, LabelTable& table, uint32_t& target) const {
  target = Dataset::kNoTarget;
  if (label.empty()) return require_ ? "found an empty label" : "";
  if (!known_) {
    target = table.add(label);
    return {};
  }
  auto found = known_->find(label);
  target = found.value_or(keep_unseen_ ? Dataset::kUnseenTarget : Dataset::kNoTarget);
  if (!found && keep_unseen_) table.add(label);
  return found || keep_unseen_ || !require_ ? "" : known_->unseen(label);
}

UnseenLabels unseen_labels(const Dataset& data, const LabelTable& table) {
  UnseenLabels out;
  const auto begin = data.target.begin(), end = data.target.end();
  out.examples = static_cast<uint64_t>(std::count(begin, end, Dataset::kUnseenTarget));
  if (out.examples == 0) return out;
  out.first = data.numbers[static_cast<uint64_t>(std::find(begin, end, Dataset::kUnseenTarget) - begin)];
  out.label = table.spellings()[0];
  return out;
}

std::vector<uint32_t> sort_labels(std::vector<std::string>& labels) {
  std::vector<int64_t> numbers;
  for (const std::string& label : labels) {
    auto number = integer(label);
    if (!number) break;
    numbers.push_back(*number);
  }
  bool numeric = numbers.size() == labels.size();
  std::vector<uint32_t> order(labels.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return numeric && numbers[a] != numbers[b] ? numbers[a] < numbers[b] : labels[a] < labels[b];
  });
  std::vector<std::string> sorted(labels.size());
  std::vector<uint32_t> rank(labels.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    sorted[i] = std::move(labels[order[i]]);
  }
  labels = std::move(sorted);
  return rank;
}

}  // namespace selfnorm
