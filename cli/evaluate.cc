#include <utility>

#include "classifier/evaluation_report.h"
#include "commands.h"
#include "gpu/device.h"
#include "run/reading_note.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

ScoreTiming timing_of(const RuntimeModel& model, const Dataset& data) {
  const auto time = [&](selfnorm_kind kind) {
    double sink = 0;
    if (!data.is_joint()) {
      return nanoseconds(std::min(kTimedRows, data.examples()), [&](uint64_t row) {
        const uint32_t y = data.target[row] == Dataset::kUnseenTarget ? 0 : data.target[row];
        model.score(data.features, row, std::span(&y, 1), kind, std::span(&sink, 1));
      });
    }
    // Raw needs the one alternative, exact its whole group.
    return nanoseconds(std::min(kTimedRows, data.examples()), [&](uint64_t group) {
      const uint64_t begin = data.group_begin[group];
      const uint64_t end = kind == SELFNORM_RAW ? begin + 1 : data.group_begin[group + 1];
      sink = model.alternatives(data.features, begin, end, kind)[0].log_prob;
    });
  };
  return {.raw_ns = time(SELFNORM_RAW),
          .exact_ns = time(SELFNORM_EXACT),
          .amortised_ns = model.has_normalizer() ? std::optional(time(SELFNORM_AMORTISED)) : std::nullopt};
}

// What `score` would give of the labels, where that is not exact.
Json served_json(const ServedKind& served, const RuntimeModel& model, const Dataset& data) {
  double nll = 0;
  uint64_t above = 0, rows = 0;
  for (uint64_t row = 0; row < data.examples(); ++row) {
    if (data.target[row] == Dataset::kUnseenTarget) continue;
    double log_prob = 0;
    model.score(data.features, row, std::span(&data.target[row], 1), served.kind, std::span(&log_prob, 1));
    if (data.features.is_sparse) data.features.sparse.were_read(row, row + 1);
    nll -= log_prob;
    above += log_prob > 0 ? 1 : 0;
    ++rows;
  }
  const double n = static_cast<double>(std::max<uint64_t>(1, rows));
  Json out = served.json();
  out.update({{"nll", nll / n}, {"above_one", static_cast<double>(above) / n}});
  return out;
}

}  // namespace

int evaluate_classifiers(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  ReadOptions options = arguments.reader.options;
  options.keep_unseen = true;
  bool is_first = true, has_unseen = false;
  std::string served_lines;
  return evaluate_models(
      arguments,
      [&](const std::string& name) {
        const ModelHeader header = read_header(name, arguments.head);
        std::optional<MappedModel> in_file;
        if (stays_in_file(header)) in_file.emplace(header.path);
        const ModelFile own = in_file ? ModelFile{} : load_model(header);
        const ModelFile& model = in_file ? in_file->model() : own;
        const ReadResult read = read_for(header, given.data, options);
        if (std::exchange(is_first, false)) note_reading(given.data, read.report);
        if (!std::exchange(has_unseen, has_unseen || read.report.unseen.examples > 0))
          note_unseen(given.data, read.report.unseen);
        const int threads = arguments.common.threads;
        EvaluationRow row{
            name, in_file ? evaluate(*in_file, read.data, threads) : evaluate(model, read.data, threads), {}};
        Json report = evaluation_json(row.evaluation, header.log_normalizer);
        report["bad_rows"] = read.report.bad.size();
        report["device"] = used_device();
        if (model.ladder.exists()) {
          const RuntimeModel runtime(header);
          const ServedKind served = served_kind(arguments.ladder, runtime);
          report["served"] = served.json();
          if (served.name != "exact") {
            report["served"] = served_json(served, runtime, read.data);
            served_lines += fmt::format("{}: served by {}; NLL {:.4f}, {:.2g}% of the labels above 1\n", name,
                                        served.text(), report["served"]["nll"].get<double>(),
                                        100 * report["served"]["above_one"].get<double>());
          }
        }
        if (given.timing) {
          row.timing = timing_of(RuntimeModel(header), read.data);
          report.update(timing_json(*row.timing));
        }
        return std::pair(std::move(report), std::move(row));
      },
      [&](const std::vector<EvaluationRow>& rows) {
        const Evaluation& only = rows[0].evaluation;
        std::string text = evaluation_table(rows) + served_lines;
        if (rows.size() > 1) return text;
        text += log_z_line(only.log_z);
        return only.amortised ? text + log_z_line(only.amortised->log_z, "log Z - c - b") : text;
      });
}

}  // namespace selfnorm::cli
