#include <fmt/format.h>

#include "base/failure.h"
#include "data/input/characters.h"
#include "data/input/part.h"
#include "data/read.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kLargestIndex = 0xFFFFFFFEu;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

const char* skip_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}

std::string_view token_at(const char* p, const char* end) {
  const char* stop = p;
  while (stop != end && !is_blank(*stop)) ++stop;
  return {p, static_cast<size_t>(stop - p)};
}

bool is_pair(std::string_view token) {  // index:number, so no label
  size_t colon = token.find(':');
  return colon != 0 && colon != std::string_view::npos && token.find_first_not_of("0123456789") == colon &&
         is_number(token.substr(colon + 1));
}

// Line 1 that is neither empty nor a comment says whether the file has groups.
bool has_groups(Input& input) {
  std::string_view head = input.peek(size_t{1} << 16);
  uint64_t lines = 0;
  while (!head.empty()) {
    std::string_view line = take_record(head, {}, lines);
    const char* end = line.data() + line.size();
    const char* p = skip_blanks(line.data(), end);
    if (p == end || *p == '#') continue;
    std::string_view label = token_at(p, end);
    return token_at(skip_blanks(label.data() + label.size(), end), end).starts_with("qid:");
  }
  return false;
}

class SvmlightParser {
 public:
  SvmlightParser(const ReadOptions& options, bool joint)
      : options_(options), joint_(joint), labels_(options) {
    if (options.schema) largest_ = options.schema->feature_count;
  }

  Part operator()(std::string_view text) const {
    Part part;
    part.column.reserve(text.size() / 8);
    part.value.reserve(text.size() / 8);
    return parse_records(text, {}, std::move(part),
                         [this](std::string_view record, Part::Bad& bad, Part& to) {
                           return parse(record, bad.line, to, bad.group);
                         });
  }

 private:
  // Appends the row, or returns what is wrong with it.
  std::string parse(std::string_view line, uint64_t number, Part& part,
                    std::optional<uint64_t>& group) const {
    const char* end = line.data() + line.size();
    const char* p = skip_blanks(line.data(), end);
    if (p == end || *p == '#') return {};
    std::string_view label = token_at(p, end);
    bool labelled = !is_pair(label);
    if (labelled) p = skip_blanks(label.data() + label.size(), end);
    if (!labelled && options_.require_labels)
      return fmt::format("found {}, expected a label before the first index:value", quoted_text(label));
    uint32_t target = joint_ ? 0 : Dataset::kNoTarget;
    std::string message = parse_group(p, end, group);
    if (message.empty()) message = parse_pairs(p, end, part);
    if (message.empty() && labelled)
      message = joint_ ? parse_choice(label, target) : labels_.number(label, part.labels, target);
    if (!message.empty()) return message;
    uint64_t begin = part.row_end.empty() ? 0 : part.row_end.back();
    if (part.column.size() > begin) part.columns = std::max(part.columns, part.column.back() + 1);
    part.row_end.push_back(part.column.size());
    part.target.push_back(target);
    if (joint_) {
      part.line.push_back(number);
      part.group.push_back(*group);
    }
    return {};
  }

  std::string parse_group(const char*& p, const char* end, std::optional<uint64_t>& group) const {
    std::string_view token = token_at(p, end);
    if (!token.starts_with("qid:")) {
      if (!joint_) return {};
      return fmt::format("found {}, expected qid:N after the target as in the first row",
                         token.empty() ? "nothing" : quoted_text(token));
    }
    if (!joint_) return fmt::format("found {}, but the first row has no qid", quoted_text(token));
    uint64_t qid = 0;
    const char* stop = parse_natural(p + 4, end, qid);
    if (stop != token.data() + token.size())
      return fmt::format("found {}, expected qid: and a whole number", quoted_text(token));
    group = qid;
    p = skip_blanks(stop, end);
    return {};
  }

  static std::string parse_choice(std::string_view token, uint32_t& target) {
    float value = 0;
    const char* end = token.data() + token.size();
    if (parse_float(token.data(), end, value) != end) return "in the target: " + number_error(token);
    target = value > 0 ? 1 : 0;
    return {};
  }

  std::string parse_pairs(const char* p, const char* end, Part& part) const {
    uint64_t last = 0;
    for (; p != end && *p != '#'; p = skip_blanks(p, end)) {
      uint64_t index = 0;
      float value = 0;
      const char* colon = parse_natural(p, end, index);
      if (!colon || *colon != ':' || colon == end || index <= last || index > largest_) [[unlikely]]
        return index_error(token_at(p, end), last);
      const char* stop = parse_float(colon + 1, end, value);
      if (!stop || (stop != end && !is_blank(*stop) && *stop != '#')) [[unlikely]]
        return fmt::format("in the value of index {}: {}", index, number_error(token_at(colon + 1, end)));
      last = index;
      part.column.push_back(static_cast<uint32_t>(index - 1));
      part.value.push_back(value);
      p = stop;
    }
    return {};
  }

  std::string index_error(std::string_view token, uint64_t last) const {
    uint64_t index = 0;
    const char* end = token.data() + token.size();
    const char* colon = parse_natural(token.data(), end, index);
    bool digits = token.find_first_not_of("0123456789") == token.find(':') && !token.starts_with(':');
    if (!digits || token.find(':') == std::string_view::npos)
      return fmt::format("found {}, expected index:value", quoted_text(token));
    if (colon && index == 0)
      return fmt::format("found {}, but indices start at 1 in this format", quoted_text(token));
    if (!colon || index > kLargestIndex)
      return fmt::format("found {}, expected an index of at most {}", quoted_text(token), kLargestIndex);
    if (index > largest_)
      return fmt::format("found {}, but the model has {} features", quoted_text(token), largest_);
    return fmt::format("found {} after index {}, expected indices to increase", quoted_text(token), last);
  }

  const ReadOptions& options_;
  bool joint_;
  uint64_t largest_ = kLargestIndex;
  LabelRule labels_;
};

}  // namespace

ReadResult read_svmlight(Input& input, const ReadOptions& options) {
  bool joint = has_groups(input);
  if (options.schema && options.schema->is_joint != joint)
    throw DataError(input.name(), 0,
                    joint ? "the data are groups of alternatives (qid:), but the model has classes"
                          : "the model scores groups of alternatives; expected svmlight data with qid:");
  if (joint && !options.spool.empty())
    throw_at(input.name(), 0, "the data are groups of alternatives (qid:), but `cache` is for classes");
  Assembly assembly(input, options, 1);
  if (joint) assembly.expect_groups();
  assembly.take({}, SvmlightParser(options, joint));
  return assembly.finish(Format::svmlight);
}

}  // namespace selfnorm
