#include "classifier/ladder_report.h"

#include <fmt/format.h>

#include <cmath>

#include "document/section/audit_section.h"
#include "family/classifier/normalize/training_ladder.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kLadderSteps = 18;

std::string bound_text(const MeasuredRung& rung) {
  return std::isfinite(rung.eps) ? rounded_up(rung.eps, 4) : "none";
}

std::string speed_text(const LadderFit& fit, const MeasuredRung& rung) {
  return rung.nanoseconds > 0 ? fmt::format("{:.1f}", fit.exact().nanoseconds / rung.nanoseconds) : "-";
}

std::string certified_words(const LadderFit& fit) {
  const Rung& any = fit.rungs.front();
  return fmt::format(
      "certified for {:.4g}% of inputs with confidence {:.4g}%, all rungs together, on {} inputs that "
      "nothing "
      "was fitted to; fitted to {}",
      100 * (1 - any.rho), 100 * any.conf, grouped(fit.certified), grouped(fit.fitted));
}

}  // namespace

LadderOptions ladder_options(const LadderArguments& given, uint64_t seed, ProgressLine& line) {
  LadderOptions out;
  out.within = given.within;
  out.rho = given.rho;
  out.confidence = given.confidence;
  out.max_cost = given.max_cost;
  out.keep_all = given.keep == "all";
  out.clusters = given.clusters;
  out.seed = seed;
  uint64_t done = 0;
  out.on_step = [&line, done](const std::string& step) mutable {
    done = std::min(done + 1, kLadderSteps);
    line.show({done, kLadderSteps, "ladder: " + step, true});
  };
  return out;
}

std::string ladder_text(const LadderFit& fit) {
  std::string text = fmt::format("ladder       {}\n", chosen_text(fit));
  if (fit.rungs.size() == 1) return text;
  text += fmt::format("  {:<14} {:>12} {:>12} {:>10} {:>10} {:>10} {:>10}\n", "rung", "dot products",
                      "ns an input", "x faster", "rms", "99% within", "certified");
  for (const MeasuredRung& rung : fit.rungs) {
    const bool is_exact = rung.kind == RungKind::Exact;
    text += fmt::format("  {:<14} {:>12} {:>12} {:>10} {:>10.4f} {:>10.4f} {:>10}{}\n", rung.name,
                        grouped(static_cast<uint64_t>(std::lround(rung.cost))),
                        grouped(static_cast<uint64_t>(std::lround(rung.nanoseconds))), speed_text(fit, rung),
                        rung.rms, rung.q99, is_exact ? "0" : bound_text(rung),
                        &rung == &fit.best() ? "  <- chosen" : "");
  }
  return text + fmt::format("  {}\n", certified_words(fit));
}

nlohmann::ordered_json ladder_report_json(const LadderFit& fit) {
  nlohmann::ordered_json rungs = nlohmann::ordered_json::array();
  for (const MeasuredRung& rung : fit.rungs) {
    nlohmann::ordered_json one = {{"name", rung.name},
                                  {"kind", runtime::name(rung.kind)},
                                  {"cost", rung.cost},
                                  {"most_cost", rung.most_cost},
                                  {"nanoseconds", rung.nanoseconds},
                                  {"rms", rung.rms},
                                  {"q99", rung.q99},
                                  {"eps", nullptr},
                                  {"rho", rung.rho},
                                  {"conf", rung.conf}};
    if (std::isfinite(rung.eps)) one["eps"] = rung.eps;
    rungs.push_back(std::move(one));
  }
  return {{"chosen", fit.best().name},
          {"reason", fit.reason},
          {"fitted", fit.fitted},
          {"certified", fit.certified},
          {"rungs", rungs}};
}

void add_ladder(const LadderFit& fit, ReportDocument& document) {
  const MeasuredRung& best = fit.best();
  document.cards.push_back(
      {"rung", "Log-probabilities that are served",
       fit.is_exact() ? "exact" : fmt::format("{}, within {}", best.name, rounded_up(best.eps, 2)), best.eps,
       fit.is_exact() ? fit.reason : certified_words(fit)});
  if (fit.rungs.size() == 1) return;
  Series bounds{.name = "certified", .x = {}, .y = {}, .stroke = Stroke::line_points, .colour = 0};
  Series rms{.name = "rms", .x = {}, .y = {}, .stroke = Stroke::line_points, .colour = 1};
  Table table{.caption = "Rungs: " + certified_words(fit),
              .columns = {"rung", "dot products", "ns an input", "times as fast as exact", "rms",
                          "99% within", "certified"}};
  for (const MeasuredRung& rung : fit.rungs) {
    table.add({rung.name, rung.cost, rung.nanoseconds, speed_text(fit, rung), rung.rms, rung.q99,
               rung.kind == RungKind::Exact ? "0" : bound_text(rung)});
    if (rung.kind == RungKind::Exact) continue;
    const double cost = std::max(1.0, rung.cost);  // the axis is logarithmic
    const std::string label = fmt::format("{}: {:.0f} dot products", rung.name, rung.cost);
    const auto put = [&](double error, Series& series) {
      if (!(error > 0) || !std::isfinite(error)) return;
      series.x.push_back(cost);
      series.y.push_back(error);
      series.labels.push_back(label);
    };
    put(rung.eps, bounds);
    put(rung.rms, rms);
  }
  ReportSection& section = document.section("Normalisation");
  section.tables.push_back({.id = "ladder", .look = "", .table = std::move(table)});
  Panel panel{.title = "",
              .x = {.label = fmt::format("dot products an input (exact: {:.0f})", fit.exact().cost),
                    .logarithmic = true},
              .y = {.label = "error of log-probabilities, nats", .logarithmic = true},
              .series = {std::move(bounds), std::move(rms)}};
  section.figures.push_back(
      {.id = "error_against_cost",
       .look = "Ways to log Z between one dot product and the sum over all classes: down and to the left is "
               "better. The "
               "upper line is certified, the lower one is the typical error.",
       .figure = {.title = "Error against cost of log-normalizers", .panels = {std::move(panel)}}});
}

LadderFit end_with_ladder(const Arguments& arguments, uint64_t examples, const HeldOutInputs& held_out,
                          ModelFile& model, Verdict& verdict) {
  const TrainOptions& training = arguments.training().options;
  ProgressLine line(arguments.common.quiet);
  LadderOptions options =
      ladder_after(training, examples, model, ladder_options(arguments.ladder, training.seed, line));
  options.certifies = held_out.part != RowsPart::kTrained;
  LadderFit fit = fit_ladder(model, held_out.inputs, options);
  line.finish();
  model.ladder = fit.ladder;
  const MeasuredRung& best = fit.best();
  verdict.audit["served"] = {{"kind", runtime::name(best.kind)}, {"rung", best.name}, {"reason", fit.reason}};
  if (!fit.is_exact())
    verdict.audit["served"].update(
        {{"eps", best.eps}, {"rho", best.rho}, {"conf", best.conf}, {"cost", best.cost}});
  verdict.table += "served: " + chosen_text(fit) + "\n";
  return fit;
}

}  // namespace selfnorm::cli
