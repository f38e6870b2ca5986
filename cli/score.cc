#include <algorithm>
#include <functional>

#include "base/failure.h"
#include "base/near_name.h"
#include "classifier/model_header.h"
#include "classifier/runtime_model.h"
#include "commands.h"
#include "data/string_index.h"
#include "gpu/device.h"
#include "grammar/option_list.h"
#include "math/process/shared_loop.h"
#include "model/class_scores.h"
#include "model/encoder.h"
#include "normalizer/device_head.h"
#include "normalizer/shard_softmax.h"
#include "output.h"
#include "run/reading_note.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kRowsHeld = 1u << 16, kRowsAtOnce = 64;  // answers in memory; of a unit of work

// Takes (row, label, log_prob).
using CandidateSink = std::function<void(uint64_t, const std::string&, double)>;

std::vector<std::string> candidate_labels(const ScoreArguments& given) {
  if (!given.candidates_file.empty()) return read_labels(given.candidates_file);
  return given.candidates;
}

std::vector<uint32_t> classes_of(const std::vector<std::string>& wanted, const ModelHeader& header) {
  const KnownLabels known(header.schema.labels);
  std::vector<uint32_t> classes;
  for (const std::string& label : wanted) {
    const auto found = known.find(label);
    if (!found) {
      const std::string near =
          header.schema.labels.are_numbers() ? "" : nearest(label, header.schema.labels.all());
      throw_error("candidate '{}' is not a label of {}; {}", label, header.path,
                  near.empty() ? "'selfnorm info' shows some" : fmt::format("did you mean '{}'?", near));
    }
    classes.push_back(*found);
  }
  return classes;
}

std::vector<uint32_t> positions_of(const std::vector<std::string>& wanted) {
  std::vector<uint32_t> positions;
  for (const std::string& word : wanted) {
    if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos) {
      throw_error("candidate '{}' is not a position in a group; expected 0, 1, ...", word);
    }
    positions.push_back(static_cast<uint32_t>(std::stoul(word)));
  }
  return positions;
}

struct Request {
  std::vector<uint32_t> candidates;
  size_t top = 0;
  int kind = SELFNORM_RAW;
  std::vector<double> log_z = {};  // of every row, less c, where exact scores are raw ones less that
};

// Of a model whose weights stay in the file: processes share the classes.
std::vector<double> log_z_in_file(const ModelHeader& header, const Dataset& data) {
  const MappedModel model(header.path);
  const ClassShard shard(header.classes);
  const std::vector<uint32_t> any(data.examples());
  std::vector<double> out;
  for (const ShardSummary& row :
       shard_summaries(shard, *make_class_scores(model, shard.own()),
                       header.encoder.kind == EncoderKind::Bag ? encode(model.model().encoder, data.features)
                                                               : data.features,
                       any, ShardRanks::left_out))
    out.push_back(row.moments.log_z() - header.log_normalizer);
  return out;
}

// Rows in parallel, by processes too, a part of them at a time; answers in their order.
void score_classes(const RuntimeModel& model, const Dataset& data, const ClassNames& labels,
                   const Request& request, const CandidateSink& add) {
  const size_t each = request.top > 0 ? std::min<size_t>(request.top, model.classes())
                                      : std::max<size_t>(1, request.candidates.size());
  std::vector<uint32_t> classes;
  std::vector<double> log_probs;
  for (uint64_t first = 0; first < data.examples(); first += kRowsHeld) {
    const uint64_t rows = std::min(kRowsHeld, data.examples() - first);
    classes.resize(rows * each);
    log_probs.resize(rows * each);
    const auto score_row = [&](uint64_t i) {
      const std::span own(classes.data() + i * each, each);
      if (request.top > 0) {
        const std::vector<Candidate> best = model.top(data.features, first + i, each, request.kind);
        for (size_t c = 0; c < each; ++c) {
          own[c] = best[c].index;
          log_probs[i * each + c] = best[c].log_prob;
        }
        return;
      }
      if (request.candidates.empty())
        own[0] = data.target[first + i];
      else
        std::ranges::copy(request.candidates, own.begin());
      const std::span found = std::span(log_probs).subspan(i * each, each);
      if (request.log_z.empty()) return model.score(data.features, first + i, own, request.kind, found);
      model.score(data.features, first + i, own, SELFNORM_RAW, found);
      for (double& log_prob : found) log_prob = std::min(0.0, log_prob - request.log_z[first + i]);
    };
    shared_ranges(
        rows, kRowsAtOnce,
        [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) score_row(i);
        },
        owned(classes, each), owned(log_probs, each));
    if (data.features.is_sparse) data.features.sparse.were_read(first, first + rows);
    for (uint64_t i = 0; i < rows * each; ++i)
      add(data.numbers[first + i / each], labels[classes[i]], log_probs[i]);
  }
}

// Exact log-probabilities of dense rows, where the chosen device has them; false: here.
bool score_on_device(const ModelHeader& header, const Dataset& data, const ClassNames& labels,
                     const Request& request, const CandidateSink& add) {
  const bool can_be_sent = request.kind == SELFNORM_EXACT && request.top == 0 && !data.features.is_sparse &&
                           header.encoder.kind == EncoderKind::None && header.family == Family::Multiclass;
  if (!can_be_sent) {
    refuse_device("a GPU gives exact scores of candidates or labels for dense rows of a model of classes");
    return false;
  }
  const ModelFile model = load_model(header);
  const auto device = DeviceHead::on_chosen_device(model);
  if (!device) return false;
  const size_t each = std::max<size_t>(1, request.candidates.size());
  std::vector<float> found;
  if (!request.candidates.empty()) {
    found = device->log_probs(data.features, request.candidates);
  } else {
    const DeviceMoments of = device->moments(data.features, data.target);
    for (uint64_t row = 0; row < data.examples(); ++row)
      found.push_back(static_cast<float>(of.rows[row].total.log_share(of.target_score[row])));
  }
  for (uint64_t row = 0; row < data.examples(); ++row)
    for (size_t i = 0; i < each; ++i) {
      const uint32_t k = request.candidates.empty() ? data.target[row] : request.candidates[i];
      add(data.numbers[row], labels[k], static_cast<double>(found[row * each + i]));
    }
  return true;
}

void check_positions(const std::vector<uint32_t>& candidates, const Dataset& data) {
  for (uint64_t group = 0; group < data.examples(); ++group) {
    const uint64_t size = data.group_begin[group + 1] - data.group_begin[group];
    for (const uint32_t position : candidates) {
      if (position < size) continue;
      throw_error("candidate {} of group {}: it has {} alternatives", position, data.numbers[group], size);
    }
  }
}

void score_groups(const RuntimeModel& model, const Dataset& data, const Request& request,
                  const CandidateSink& add) {
  for (uint64_t group = 0; group < data.examples(); ++group) {
    std::vector<Candidate> all =
        model.alternatives(data.features, data.group_begin[group], data.group_begin[group + 1], request.kind);
    std::vector<Candidate> shown;
    if (request.top > 0) {
      std::stable_sort(all.begin(), all.end(),
                       [](const auto& a, const auto& b) { return a.log_prob > b.log_prob; });
      shown.assign(all.begin(), all.begin() + std::ptrdiff_t(std::min(request.top, all.size())));
    } else if (request.candidates.empty()) {
      shown.push_back(all[data.target[group]]);
    }
    for (const uint32_t position : request.candidates) shown.push_back(all[position]);
    for (const Candidate& c : shown) add(data.numbers[group], std::to_string(c.index), c.log_prob);
  }
}

}  // namespace

int score_candidates(const Arguments& arguments) {
  const ScoreArguments& given = arguments.score;
  const ModelHeader header = read_header(given.model, arguments.head);
  const RuntimeModel model(header);
  const ServedKind served = served_kind(given, arguments.ladder, model);
  const std::vector<std::string> wanted = candidate_labels(given);
  Request request{.candidates = header.is_joint() ? positions_of(wanted) : classes_of(wanted, header),
                  .top = given.top,
                  .kind = served.kind};
  ReadOptions options = arguments.reader.options;
  options.require_labels = wanted.empty() && given.top == 0;
  const ReadResult read = read_for(header, given.data, options);
  if (header.is_joint()) check_positions(request.candidates, read.data);
  note_reading(given.data, read.report);
  warn_about_scores(served, header);

  ClassNames labels = header.schema.labels;
  if (labels.empty()) labels = ClassNames::numbers(header.classes);
  const std::string& name = served.name;
  RowSheet sheet(arguments.common.json, "# " + served.text(), served.json());
  const auto add = [&](uint64_t row, const std::string& label, double log_prob) {
    sheet.row({{"row", row}, {"label", label}, {"log_prob", log_prob}, {"", name}});
  };
  if (header.is_joint())
    score_groups(model, read.data, request, add);
  else if (stays_in_file(header) && request.kind == SELFNORM_EXACT && request.top == 0) {
    request.log_z = log_z_in_file(header, read.data);
    score_classes(model, read.data, labels, request, add);
  } else if (!score_on_device(header, read.data, labels, request, add))
    score_classes(model, read.data, labels, request, add);
  sheet.finish();
  return 0;
}

}  // namespace selfnorm::cli
