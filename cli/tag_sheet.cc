#include "tag_sheet.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace selfnorm::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string TagSheet::head() const {
  if (!options_.json) return "";
  Json head = {{"kind", options_.kind.empty() ? Json() : Json(options_.kind)}, {"labels", labels_}};
  std::string text = dumped(head);
  text.back() = ',';
  return text + "\"sentences\": [";
}

std::string TagSheet::foot() const { return options_.json ? "\n]}\n" : ""; }

std::string TagSheet::sentence(uint64_t number, const TaggedSentence& tagged) const {
  if (!options_.json) return text_of(number, tagged);
  return (number == 0 ? "\n  " : ",\n  ") + json_of(number, tagged);
}

std::string TagSheet::text_of(uint64_t number, const TaggedSentence& tagged) const {
  std::string out;
  const auto to = std::back_inserter(out);
  for (size_t rank = 0; rank < tagged.labellings.size(); ++rank) {
    const std::vector<uint32_t>& labels = tagged.labellings[rank].labels;
    if (options_.numbers_labellings || !tagged.log_prob.empty()) {
      fmt::format_to(to, "# sentence={} rank={}", number, rank + 1);
      if (!tagged.log_prob.empty())
        fmt::format_to(to, " log_prob={} kind={}", tagged.log_prob[rank], options_.kind);
      out += '\n';
    }
    for (size_t t = 0; t < labels.size(); ++t) {
      for (const std::string& field : tagged.text.tokens[t]) out.append(field).append(1, '\t');
      out += labels_[labels[t]];
      if (!tagged.marginals.empty()) {
        const float* p = tagged.marginals.data() + t * labels_.size();
        if (options_.all_marginals)
          for (size_t k = 0; k < labels_.size(); ++k) fmt::format_to(to, "\t{}:{:.6g}", labels_[k], p[k]);
        else
          fmt::format_to(to, "\t{:.6g}", p[labels[t]]);
      }
      out += '\n';
    }
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
