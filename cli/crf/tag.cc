#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "crf/crf_model.h"
#include "crf/tagger.h"
#include "math/parallel.h"
#include "output.h"
#include "run/reading_note.h"
#include "selfnorm/error.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kSentencesAtOnce = 256, kSentencesOfUnit = 8;

struct TagSheetOptions {
  bool json = false;
  bool numbers_labellings = false;  // even without log-probabilities
  bool all_marginals = false;       // of every label, not of the token's alone
  std::string kind = {};            // of log-probabilities
};

// Whether `entry` of MISC is a probability that `tag` wrote: p=0.9 or p[LABEL]=0.9.
bool is_marginal(std::string_view entry) {
  const size_t end = entry.starts_with("p[") ? entry.rfind("]=") : 0;
  if (end == std::string_view::npos || (end == 0 && !entry.starts_with("p="))) return false;
  const std::string_view number = entry.substr(end + 2);
  double p = -1;
  const auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), p);
  return error == std::errc() && rest == number.data() + number.size() && p >= 0 && p <= 1;
}

std::vector<std::string> entries_without_marginals(std::string_view misc) {
  std::vector<std::string> entries;
  for (size_t begin = 0; misc != "_" && begin <= misc.size();) {
    const size_t end = std::min(misc.find('|', begin), misc.size());
    const std::string_view entry = misc.substr(begin, end - begin);
    if (!is_marginal(entry)) entries.emplace_back(entry);
    begin = end + 1;
  }
  return entries;
}

// A bar separates the entries of MISC.
std::string without_bars(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\p") : std::string(1, c);
  return out;
}

// What `tag` writes of a sentence, a blank line at the end: the columns of its tokens, the label after them,
// or in the place of the labels where there are none, then what else was asked for; attributes with the label
// in the first field; CoNLL-U again, with the label in the target column, marginals in MISC (p=0.9, or
// p[LABEL]=0.9 with | written \p; those of an earlier `tag` are gone) and its other lines where they were; or
// an object of the list that --json prints.
class TagSheet {
 public:
  // Keeps a reference to the encoder that reads the data.
  TagSheet(const TagSheetOptions& options, const SequenceEncoder& encoder)
      : options_(options), encoder_(encoder), labels_(encoder.labels) {}

  // Of the sentence with this number, from 0; without the end of the last line.
  std::string sentence(uint64_t number, const TaggedSentence& tagged) const {
    return options_.json ? json_of(number, tagged) : text_of(number, tagged);
  }

 private:
  // write(label, probability) of those asked for.
  template <class Write>
  void for_marginals(const TaggedSentence& tagged, size_t token, uint32_t label, Write write) const {
    if (tagged.marginals.empty()) return;
    const float* p = tagged.marginals.data() + token * labels_.size();
    if (!options_.all_marginals) return write(label, p[label]);
    for (uint32_t k = 0; k < labels_.size(); ++k) write(k, p[k]);
  }

  std::string columns_of(const TaggedSentence& tagged, size_t token, uint32_t label) const {
    std::vector<std::string> fields = tagged.text.tokens[token];
    const auto target = fields.begin() + static_cast<ptrdiff_t>(encoder_.target);
    if (encoder_.format == SequenceFormat::attributes)
      *target = labels_[label];
    else
      fields.insert(fields.size() < encoder_.columns ? target : fields.end(), labels_[label]);
    std::string out = fmt::format("{}", fmt::join(fields, "\t"));
    for_marginals(tagged, token, label, [&](uint32_t k, float p) {
      out += options_.all_marginals ? fmt::format("\t{}:{:.6g}", labels_[k], p) : fmt::format("\t{:.6g}", p);
    });
    return out;
  }

  std::string conllu_of(const TaggedSentence& tagged, size_t token, uint32_t label) const {
    std::vector<std::string> fields = tagged.text.tokens[token];
    fields[encoder_.target] = labels_[label];
    std::vector<std::string> misc = entries_without_marginals(fields.back());
    for_marginals(tagged, token, label, [&](uint32_t k, float p) {
      misc.push_back(options_.all_marginals ? fmt::format("p[{}]={:.6g}", without_bars(labels_[k]), p)
                                            : fmt::format("p={:.6g}", p));
    });
    fields.back() = misc.empty() ? "_" : fmt::format("{}", fmt::join(misc, "|"));
    return fmt::format("{}", fmt::join(fields, "\t"));
  }

  std::string text_of(uint64_t number, const TaggedSentence& tagged) const {
    std::string out;
    const bool is_conllu = encoder_.format == SequenceFormat::conllu;
    const std::vector<SentenceText::OtherLine>& others = tagged.text.others;
    for (size_t rank = 0; rank < tagged.labellings.size(); ++rank) {
      const std::vector<uint32_t>& labels = tagged.labellings[rank].labels;
      LabellingMark mark{number, rank + 1};
      if (!tagged.log_prob.empty()) mark.score = {tagged.log_prob[rank], options_.kind};
      if (options_.numbers_labellings || mark.score) out += mark_line(mark) + '\n';
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
      if (rank + 1 < tagged.labellings.size()) out += '\n';
    }
    return out;
  }

  std::string json_of(uint64_t number, const TaggedSentence& tagged) const {
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
        out["all_marginals"].push_back(
            std::vector<float>(tagged.marginals.begin() + static_cast<ptrdiff_t>(t * width),
                               tagged.marginals.begin() + static_cast<ptrdiff_t>((t + 1) * width)));
    return json_line(out);
  }

  TagSheetOptions options_;
  const SequenceEncoder& encoder_;
  const std::vector<std::string>& labels_;
};

}  // namespace

int tag_sentences(const Arguments& arguments) {
  const TagArguments& given = arguments.tag;
  const CrfModel model = open_crf(given.model, given.format).model;
  const std::string data = given.data.empty() ? "-" : given.data;
  const bool is_piped = data == "-" || !std::filesystem::is_regular_file(data);
  SequenceStream stream(data, model.encoder, false);
  if (given.score == "raw" && !arguments.common.quiet)
    warn_about_scores(model.normalizer.exists ? SELFNORM_AMORTISED : SELFNORM_RAW, records_of(model),
                      "--score exact");
  const std::string kind = given.score == "none"                             ? ""
                           : given.score == "raw" && model.normalizer.exists ? kind_name(SELFNORM_AMORTISED)
                                                                             : given.score;
  const TagSheet sheet({.json = arguments.common.json,
                        .numbers_labellings = given.n_best > 1,
                        .all_marginals = given.all_marginals,
                        .kind = kind},
                       model.encoder);
  RowSheet rows(arguments.common.json, "",
                {{"kind", kind.empty() ? Json() : Json(kind)}, {"labels", model.encoder.labels}},
                "sentences");
  // Who asks through a pipe may be waiting for the answer.
  const size_t at_once = is_piped ? 1 : kSentencesAtOnce;
  const PairFactors<float> factors = transition_factors<float>(model.shape, model.theta);
  uint64_t done = 0;
  std::vector<ReadSentence> block;
  std::vector<std::string> texts;
  SentenceText rest;  // after the last sentence
  for (bool is_end = false; !is_end;) {
    block.clear();
    while (!is_end && block.size() < at_once) {
      ReadSentence next;
      is_end = !stream.next(next.data, next.text);
      if (is_end)
        rest = std::move(next.text);
      else
        block.push_back(std::move(next));
    }
    texts.resize(block.size());
    parallel_ranges(block.size(), kSentencesOfUnit, [&](size_t begin, size_t end) {
      Tagger tagger(model, factors, given);
      for (size_t i = begin; i < end; ++i)
        texts[i] = sheet.sentence(done + i, tagger(std::move(block[i]), done + i));
    });
    for (const std::string& text : texts) rows.put(text);
    if (is_piped) flush_output();
    done += block.size();
  }
  rows.finish();
  note_no_sentence(data, done);
  if (!arguments.common.json)
    for (const auto& [before, line] : rest.others) print(line + "\n");
  return 0;
}

}  // namespace selfnorm::cli
