// The price of self-normalisation on the user's own data (theory.md 2): the gap that the constrained optimum
// leaves, measured, beside every bound of it, for the model as it is and for the maximum of the likelihood.
#include <cmath>

#include "audit/bounds/gap_bounds.h"
#include "base/failure.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "family/classifier/normalize/likelihood_gap.h"
#include "math/vector.h"
#include "model/parameters.h"
#include "normalizer/problem.h"
#include "objective/exact.h"
#include "objective/loss.h"
#include "output.h"
#include "run/reading_note.h"

namespace selfnorm::cli {
namespace {

constexpr double kFlat = 1e-3;     // |grad l| / R, which is at most 2, of what counts as a maximum
constexpr double kMatched = 1e-6;  // nats of eta . grad l that count as none

// One column of the report: parameters with their bounds.
struct Side {
  GapBounds bounds;
  double gradient = 0;  // |grad l|
  double gap = 0;       // measured: NLL of the constrained optimum minus that of these parameters

  bool is_maximum() const { return gradient <= kFlat * bounds.radius; }
  // What Theorem 2 (KL) and Proposition 3 lack away from a maximum (audit/bounds/gap_bounds.h).
  double missing() const { return (1 - bounds.alpha) * std::max(0.0, bounds.slope); }
  bool matches_moments() const { return missing() <= kMatched; }
};

double gradient_norm(const Dataset& data, const std::vector<double>& theta, const ModelFile& model) {
  const auto pass = make_exact_pass<double>(data, model.features, model.classes, model.log_carrier);
  std::vector<double> gradient(pass->gradient_size());
  const LossSum sum =
      value_and_gradient<double>(*pass, Exact(), {.weight = data.weight}, theta, std::span(gradient));
  return std::sqrt(inner_product<double>(gradient, gradient)) / sum.weight;
}

Side side_of(const Dataset& data, const std::vector<double>& theta, const ModelFile& model, double delta) {
  Side side;
  side.bounds = gap_bounds(*scored_examples(data, theta, model.log_carrier), delta);
  side.gradient = gradient_norm(data, theta, model);
  return side;
}

Json side_json(const Side& side) {
  const GapBounds& g = side.bounds;
  return {{"nll", g.nll},
          {"rms", g.rms},
          {"kl_uniform", g.kl},
          {"norm", g.norm},
          {"radius", g.radius},
          {"alpha", g.alpha},
          {"gradient_norm", side.gradient},
          {"slope", g.slope},
          {"is_maximum", side.is_maximum()},
          {"gap", side.gap},
          {"bounds",
           {{"path", g.path},
            {"concavity", g.concavity},
            {"theorem2", g.theorem2},
            {"proposition3", g.proposition3},
            {"proposition3_closed", g.proposition3_closed}}},
          {"holds",
           {{"path", true},
            {"concavity", true},
            {"theorem2", side.matches_moments()},
            {"proposition3", side.matches_moments()},
            {"proposition3_closed", side.matches_moments()}}},
          {"missing", side.missing()},
          {"path_scale", g.path_scale},
          {"b", g.b},
          {"c", g.c},
          {"ties", g.ties}};
}

std::string number(double value) {
  return std::abs(value) < 1e5 ? fmt::format("{:.4f}", value) : fmt::format("{:.3e}", value);
}

std::string table(const Side& model, const Side& maximum) {
  std::vector<std::vector<std::string>> rows{{"", "MODEL", "maximum on DATA"}};
  const auto row = [&](const char* name, const auto& value) {
    rows.push_back({name, value(model), value(maximum)});
  };
  const auto bound = [&](const char* name, double GapBounds::*value, bool needs_maximum) {
    row(name, [&](const Side& side) {
      return (needs_maximum && !side.matches_moments() ? "* " : "") + number(side.bounds.*value);
    });
  };
  row("NLL", [](const Side& s) { return number(s.bounds.nll); });
  row("rms(log Z - m), of smallest |eta|", [](const Side& s) { return number(s.bounds.rms); });
  row("mean KL from uniform", [](const Side& s) { return number(s.bounds.kl); });
  row("|eta|", [](const Side& s) { return number(s.bounds.norm); });
  row("|gradient| / R", [](const Side& s) { return fmt::format("{:.1e}", s.gradient / s.bounds.radius); });
  row("alpha = delta / (R |eta|)", [](const Side& s) { return fmt::format("{:.3g}", s.bounds.alpha); });
  row("measured gap", [](const Side& s) { return number(s.gap); });
  bound("path bound", &GapBounds::path, false);
  bound("Theorem 2, concavity form", &GapBounds::concavity, false);
  bound("Theorem 2", &GapBounds::theorem2, true);
  bound("Proposition 3", &GapBounds::proposition3, true);
  bound("Proposition 3, closed form", &GapBounds::proposition3_closed, true);
  return aligned(rows);
}

std::string remarks(const Side& model, const Side& maximum, const LikelihoodGap& found, uint64_t n) {
  std::string text =
      "Of all equivalent parameters those of smallest norm are used, so rms is not that of an audit of "
      "MODEL.\n";
  if (model.is_maximum()) {
    text += "MODEL is at a maximum of the likelihood on DATA.\n";
  } else {
    text += fmt::format(
        "MODEL is not at a maximum of the likelihood on DATA: {:.4f} nats below it. The path bound and the "
        "concavity form hold anyway.\n",
        model.bounds.nll - maximum.bounds.nll);
  }
  for (const auto& [name, side] : {std::pair{"MODEL", &model}, {"the maximum", &maximum}}) {
    if (side->matches_moments()) continue;
    text += fmt::format(
        "* needs eta . gradient <= 0, as at an exact maximum; at {} it holds with {:.4g} added.\n", name,
        side->missing());
  }
  if (model.gap < 0) text += "A negative gap: the constrained optimum is likelier on DATA than MODEL.\n";
  if (model.bounds.ties > 0)
    text += fmt::format(
        "{} of {} rows have no unique best output under MODEL, which Proposition 3 asks for: its c is 0.\n",
        grouped(model.bounds.ties), grouped(n));
  if (found.separated)
    text += "DATA are separable: the maximum lies at infinity, and |eta| is where the search stopped.\n";
  if (!found.maximum.converged || !found.constrained[0].optimum.converged)
    text += "The search for the optima did not converge: the measured gap is what was found.\n";
  return text;
}

}  // namespace

int bound_classifier(const Arguments& arguments) {
  const BoundsArguments& given = arguments.bounds;
  const ModelHeader header = read_header(given.model, arguments.head);
  const ModelFile model = load_model(header);
  if (header.family == Family::Hierarchical)
    throw_error(
        "{}: the probabilities of a hierarchical model sum to 1 as they are; a bound on log Z costs nothing",
        header.path);
  ReadOptions options = arguments.reader.options;
  options.keep_unseen = true;
  ReadResult read = read_for(header, given.data, options);
  note_unseen(given.data, read.report.unseen);
  Dataset& data = read.data;
  if (read.report.unseen.examples > 0) data = subset(data, seen_examples(data));
  if (model.encoder.exists()) data.features = encode(model.encoder, data.features);
  note_reading(given.data, read.report);
  if (header.is_joint() != data.is_joint())
    throw Error(given.data +
                (header.is_joint()
                     ? ": the model scores groups of alternatives, but the data has no qid: groups"
                     : ": the data has qid: groups, but the model is a multiclass classifier"));
  Side own = side_of(data, parameters_of<double>(model), model, given.delta);
  note("maximising the likelihood, free and under the constraint ...");
  const LikelihoodGap found = likelihood_gap(
      data, {.deltas = {given.delta}, .log_carrier = model.log_carrier, .threads = arguments.common.threads});
  Side maximum = side_of(data, found.maximum.theta, model, given.delta);
  const LikelihoodOptimum& constrained = found.constrained[0].optimum;
  own.gap = constrained.nll - own.bounds.nll;
  maximum.gap = found.constrained[0].gap;

  if (arguments.common.json) {
    print_json({{"model", header.path},
                {"data", given.data},
                {"n", data.examples()},
                {"classes", model.classes},
                {"bad_rows", read.report.bad.size()},
                {"delta", given.delta},
                {"m", own.bounds.m},
                {"separated", found.separated},
                {"constrained",
                 {{"nll", constrained.nll},
                  {"rms", constrained.rms},
                  {"multiplier", constrained.multiplier},
                  {"converged", constrained.converged && found.maximum.converged}}},
                {"at_model", side_json(own)},
                {"at_maximum", side_json(maximum)}});
    return 0;
  }
  print(fmt::format(
      "What rms(log Z - m) <= {:g} costs on {}: {} examples, m = {:.4f}, R = {:.4g}; nats per example\n"
      "constrained optimum: NLL {:.4f}, rms {:.4f}\n\n",
      given.delta, given.data, grouped(data.examples()), own.bounds.m, own.bounds.radius, constrained.nll,
      constrained.rms));
  print(table(own, maximum));
  print("\n" + remarks(own, maximum, found, data.examples()));
  return 0;
}

}  // namespace selfnorm::cli
