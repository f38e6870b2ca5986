#include "tag_sheet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace selfnorm::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A bar separates the entries of MISC.
std::string without_bars(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\p") : std::string(1, c);
  return out;
}

}  // namespace

std::string TagSheet::head() const {
  if (!options_.json) return "";
  Json head = {{"kind", options_.kind.empty() ? Json() : Json(options_.kind)}, {"labels", labels_}};
  std::string text = dumped(head);
  text.back() = ',';
  return text + "\"sentences\": [";
}

std::string TagSheet::foot(const SentenceText& rest) const {
  if (options_.json) return "\n]}\n";
  std::string text;
  for (const auto& [before, line] : rest.others) text.append(line).append(1, '\n');
  return text;
}

std::string TagSheet::sentence(uint64_t number, const TaggedSentence& tagged) const {
  if (!options_.json) return text_of(number, tagged);
  return (number == 0 ? "\n  " : ",\n  ") + json_of(number, tagged);
}

template <class Write>
void TagSheet::for_marginals(const TaggedSentence& tagged, size_t token, uint32_t label, Write write) const {
  if (tagged.marginals.empty()) return;
  const float* p = tagged.marginals.data() + token * labels_.size();
  if (!options_.all_marginals) return write(label, p[label]);
  for (uint32_t k = 0; k < labels_.size(); ++k) write(k, p[k]);
}

std::string TagSheet::columns_of(const TaggedSentence& tagged, size_t token, uint32_t label) const {
  std::string out;
  for (const std::string& field : tagged.text.tokens[token]) out.append(field).append(1, '\t');
  out += labels_[label];
  for_marginals(tagged, token, label, [&](uint32_t k, float p) {
    out += options_.all_marginals ? fmt::format("\t{}:{:.6g}", labels_[k], p) : fmt::format("\t{:.6g}", p);
  });
  return out;
}

std::string TagSheet::conllu_of(const TaggedSentence& tagged, size_t token, uint32_t label) const {
  std::vector<std::string> fields = tagged.text.tokens[token];
  fields[encoder_.target] = labels_[label];
  for_marginals(tagged, token, label, [&](uint32_t k, float p) {
    std::string& misc = fields.back();
    misc = misc == "_" ? "" : misc + "|";
    misc += options_.all_marginals ? fmt::format("p[{}]={:.6g}", without_bars(labels_[k]), p)
                                   : fmt::format("p={:.6g}", p);
  });
  return fmt::format("{}", fmt::join(fields, "\t"));
}

std::string TagSheet::text_of(uint64_t number, const TaggedSentence& tagged) const {
  std::string out;
  const auto to = std::back_inserter(out);
  const bool is_conllu = encoder_.format == SequenceFormat::conllu;
  const std::vector<SentenceText::OtherLine>& others = tagged.text.others;
  for (size_t rank = 0; rank < tagged.labellings.size(); ++rank) {
    const std::vector<uint32_t>& labels = tagged.labellings[rank].labels;
    if (options_.numbers_labellings || !tagged.log_prob.empty()) {
      fmt::format_to(to, "# sentence={} rank={}", number, rank + 1);
      if (!tagged.log_prob.empty())
        fmt::format_to(to, " log_prob={} kind={}", tagged.log_prob[rank], options_.kind);
      out += '\n';
    }
    auto other = others.begin();
    const auto add_others = [&](size_t before) {
      for (; other != others.end() && other->before <= before; ++other)
        out.append(other->text).append(1, '\n');
    };
    for (size_t t = 0; t < labels.size(); ++t) {
      add_others(t);
      out += is_conllu ? conllu_of(tagged, t, labels[t]) : columns_of(tagged, t, labels[t]);
      out += '\n';
    }
    add_others(labels.size());
    out += '\n';
  }
  return out;
}

std::string TagSheet::json_of(uint64_t number, const TaggedSentence& tagged) const {
  Json out = {{"sentence", number}, {"labellings", Json::array()}};
  const size_t width = labels_.size();
  for (size_t rank = 0; rank < tagged.labellings.size(); ++rank) {
    const std::vector<uint32_t>& labels = tagged.labellings[rank].labels;
    Json labelling = {{"labels", Json::array()}};
    for (const uint32_t k : labels) labelling["labels"].push_back(labels_[k]);
    if (!tagged.log_prob.empty()) labelling["log_prob"] = tagged.log_prob[rank];
    if (!tagged.marginals.empty() && !options_.all_marginals)
      for (size_t t = 0; t < labels.size(); ++t)
        labelling["marginals"].push_back(tagged.marginals[t * width + labels[t]]);
    out["labellings"].push_back(std::move(labelling));
  }
  if (!tagged.marginals.empty() && options_.all_marginals)
    for (size_t t = 0; t * width < tagged.marginals.size(); ++t)
      out["marginals"].push_back(
          std::vector<float>(tagged.marginals.begin() + static_cast<ptrdiff_t>(t * width),
                             tagged.marginals.begin() + static_cast<ptrdiff_t>((t + 1) * width)));
  return dumped(out);
}

}  // namespace selfnorm::cli
