#include "classifier/audit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "classifier/evaluation_report.h"
#include "data/string_index.h"
#include "document/section/sparkline.h"
#include "math/random.h"
#include "output.h"
#include "run/reading_note.h"
#include "run/run_record.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kLineWidth = 96;
constexpr size_t kIndent = 13;
constexpr int kDigits = 4;  // of bounds, rounded up (what is printed can be claimed), and shares

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// Four decimals; 0 has no sign.
std::string decimals(double value) {
  const std::string text = fmt::format("{:.4f}", value);
  return text == "-0.0000" ? "0.0000" : text;
}

std::string with_sign(double value) {
  const std::string text = decimals(value);
  return value > 0 && text != "0.0000" ? "+" + text : text;
}

// A heading of 13 columns and items beside it, on as many lines as they take.
std::string listed(const std::string& heading, const std::vector<std::string>& items) {
  std::string text, line = heading;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) line += ",";
    if (line.size() + 1 + items[i].size() > kLineWidth) {
      text += line + "\n";
      line = std::string(12, ' ');
    }
    line += " " + items[i];
  }
  return text + line + "\n";
}

// Lines of plain letters that are too long, broken between words and indented.
std::string wrapped(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool is_plain = std::ranges::all_of(line, [](unsigned char c) { return c < 128; });
    while (is_plain && line.size() > kLineWidth) {
      const size_t space = line.rfind(' ', kLineWidth);
      if (space == std::string::npos || space <= kIndent) break;
      out += line.substr(0, space) + "\n";
      line = std::string(kIndent, ' ') + line.substr(space + 1);
    }
    out += line + "\n";
  }
  return out;
}

std::string part_text(const Certificate& certificate, const std::string& kind, RowsPart part) {
  if (part == RowsPart::kTrained)
    return fmt::format(
        "certificate  none: the model was trained on these inputs, of which {} of {} have an error above "
        "{:.4g}\n",
        grouped(certificate.exceed), grouped(certificate.n), certificate.eps);
  std::string text =
      certificate_text(certificate) + "in words     " + certificate_words(certificate, kind) + "\n";
  if (certificate.smallest_eps)
    text += "             " + certificate_source("measured on every input", part) + "\n";
  return text;
}

std::string certificate_and_worst(const std::string& text, const std::vector<std::string>& worst) {
  return worst.empty() ? text : text + listed("worst inputs", worst) + "             (numbers from 0)\n";
}

constexpr uint64_t kSampleStream = 0x61756473;  // "auds"

Json drift_json(const RungDrift& rung) {
  return {{"name", rung.name},
          {"kind", runtime::name(rung.kind)},
          {"eps", rung.eps},
          {"rho", rung.rho},
          {"conf", rung.conf},
          {"inputs", rung.inputs},
          {"exceeded", rung.exceeded},
          {"rho_least", rung.rho_least},
          {"drifted", rung.has_drifted()}};
}

std::string drift_text(const RungDrift& rung) {
  return fmt::format(
      "ladder       {}, certified within {} for {:.4g}% of inputs: {} of {} exceed it; {}\n", rung.name,
      rounded_up(rung.eps, 2), 100 * (1 - rung.rho), grouped(rung.exceeded), grouped(rung.inputs),
      rung.has_drifted()
          ? fmt::format("it NO LONGER HOLDS: at least {:.3g}% of inputs like these do (confidence {:.4g}%); "
                        "'selfnorm normalize --within' on such inputs fits a new one",
                        100 * rung.rho_least, 100 * rung.conf)
          : "nothing speaks against it");
}

}  // namespace

Json variance_json(const GaugeVariance& a) {
  return {{"variance", a.variance},
          {"v_star", or_null(a.v_star)},
          {"v_star_adjusted", or_null(a.v_star_adjusted)}};
}

std::string variance_text(const GaugeVariance& a) {
  std::string text = fmt::format("variance     of log Z {:.6g}", a.variance);
  if (!a.v_star) return text + "\n";
  if (*a.v_star >= a.variance * (1 - 1e-9)) return text + "; none of it can be removed without loss\n";
  if (!a.v_star_adjusted)  // a fit of as many directions as inputs says nothing
    return text + "; there are too few inputs to tell how much of it a lossless shift removes\n";
  text += fmt::format("; {:.6g} after the best lossless shift (V*)", *a.v_star);
  if (*a.v_star_adjusted > 1.2 * *a.v_star)
    text += fmt::format(", {:.6g} allowing for the directions fitted", *a.v_star_adjusted);
  if (*a.v_star_adjusted < 0.9 * a.variance)
    text += "; 'selfnorm normalize' removes the difference at no cost";
  return text + "\n";
}

std::string certificate_text(const Certificate& c) {
  std::string text;
  if (c.certified) {
    text = fmt::format(
        "certificate  CERTIFIED: with confidence {}, at most {} of inputs have an error above {:.4g} ",
        percent(c.confidence), percent(c.rho), c.eps);
  } else {
    text = fmt::format(
        "certificate  NOT CERTIFIED: an error above {:.4g} in at most {} of inputs, confidence {} ", c.eps,
        percent(c.rho), percent(c.confidence));
  }
  text += fmt::format("({} of {} audited do; with that confidence at most {}% of all)\n", grouped(c.exceed),
                      grouped(c.n), rounded_up(100 * c.rho_bound, kDigits));
  if (c.smallest_eps)
    return text + fmt::format("             smallest error bound that can be certified at {}: {}\n",
                              percent(c.rho), rounded_up(*c.smallest_eps, kDigits));
  return text + fmt::format(
                    "             {} inputs are too few to certify any bound at {}; at least {} are needed\n",
                    grouped(c.n), percent(c.rho), grouped(c.inputs_needed()));
}

RowsPart audited_part(const AuditArguments& given) {
  const RowsPart part = rows_part(given.model, given.data);
  if (part == RowsPart::kTrained && !given.require.empty())
    warning(fmt::format(
        "--require: the model was trained on {}, so what holds of it tells nothing about other inputs",
        given.data));
  return part;
}

ReportDocument audit_heading(const std::string& model, const std::string& data) {
  return {.name = model, .command = "audit", .title = fmt::format("Audit of {} on {}", model, data)};
}

std::vector<uint64_t> sampled_inputs(const AuditArguments& given, uint64_t inputs) {
  if (given.sample == 0) return {};
  std::vector<uint64_t> out = random_permutation(inputs, RandomStream(0, kSampleStream));
  out.resize(std::min(given.sample, inputs));
  std::sort(out.begin(), out.end());
  return out;
}

int end_audit(const Arguments& arguments, const AuditedRows& rows, const ReportDocument& document,
              AuditWords words) {
  constexpr int kDoesNotHold = 3;
  if (rows.part == RowsPart::kTrained) words.json["trained"] = true;
  if (rows.part == RowsPart::kChoseStep) words.json["chose_step"] = true;
  for (const RungDrift& rung : rows.drift) {
    words.json["ladder"].push_back(drift_json(rung));
    words.text += drift_text(rung);
  }
  put_out_audit(arguments, rows.place, document, std::move(words));
  const bool is_certified = arguments.audit.require.empty() || rows.certificate.certified;
  return is_certified && std::ranges::none_of(rows.drift, &RungDrift::has_drifted) ? 0 : kDoesNotHold;
}

Json errors_json(const ErrorAudit& a) {
  Json log_z = log_z_json(a.log_z), quantiles = Json::object();
  log_z["max_abs"] = std::max(std::abs(a.log_z.min), std::abs(a.log_z.max));
  for (const auto& [q, value] : a.quantiles) quantiles[fmt::format("{}", q)] = value;
  log_z["quantiles"] = quantiles;
  log_z["exact_quantiles"] = a.exact_quantiles;
  Json histogram = Json::array();
  for (const HistogramBin& bin : a.histogram)
    histogram.push_back({{"from", bin.from}, {"to", bin.to}, {"count", bin.count}});
  return {{"log_z", log_z}, {"histogram", histogram}};
}

Json certified_json(const ErrorAudit& a) {
  Json worst = Json::array();
  for (const WorstInput& input : a.worst)
    worst.push_back({{"example", input.example}, {"error", input.error}});
  const Certificate& c = a.certificate;
  return {{"certificate",
           {{"eps", c.eps},
            {"rho", c.rho},
            {"confidence", c.confidence},
            {"n", c.n},
            {"exceed", c.exceed},
            {"certified", c.certified}}},
          {"rho_bound", c.rho_bound},
          {"smallest_eps", or_null(c.smallest_eps)},
          {"worst", worst}};
}

Json audit_json(const Audit& a) {
  Json out = {{"n", a.n}, {"classes", a.classes}};
  out.update(errors_json(a));
  const bool is_labelled = a.labelled.has_value();
  const auto label = [&](double LabelledAudit::*field) {
    return is_labelled ? Json((*a.labelled).*field) : Json();
  };
  out["nll_raw"] = label(&LabelledAudit::nll_raw);
  out["nll_exact"] = label(&LabelledAudit::nll_exact);
  if (is_labelled && a.labelled->nll_amortised) out["nll_amortised"] = *a.labelled->nll_amortised;
  if (is_labelled) add_unseen(a.labelled->unseen, out);
  out["accuracy"] = label(&LabelledAudit::accuracy);
  out["ece"] = label(&LabelledAudit::ece);
  out["ece_exact"] = label(&LabelledAudit::ece_exact);
  out["above_one"] = a.above_one;
  out["kl_uniform"] = a.kl_uniform;
  out.update(variance_json(a));
  out.update(certified_json(a));
  return out;
}

std::string errors_text(const ErrorAudit& a, RowsPart part) {
  const LogZStatistics& z = a.log_z;
  const std::optional<double> band = part == RowsPart::kTrained ? std::nullopt : a.certificate.smallest_eps;
  std::vector<std::string> quantiles;
  for (const auto& [q, value] : a.quantiles)
    quantiles.push_back(fmt::format("{:.4g}%: {}", 100 * q, decimals(value)));
  return fmt::format("  mean {}, std {}, rms {}, largest size {}\n", decimals(z.mean), decimals(z.std),
                     decimals(z.rms), decimals(std::max(std::abs(z.min), std::abs(z.max)))) +
         listed("  quantiles ", quantiles) + histogram_lines(a.histogram, band, locale_glyphs());
}

std::string certified_text(const ErrorAudit& a, const std::string& kind, RowsPart part) {
  std::vector<std::string> worst;
  for (const WorstInput& input : a.worst)
    worst.push_back(fmt::format("{} ({})", input.example, with_sign(input.error)));
  return certificate_and_worst(part_text(a.certificate, kind, part), worst);
}

std::string audit_text(const Audit& a, const AuditNames& names) {
  const bool amortised = names.kind == "amortised";
  std::string text = fmt::format("log Z - c{}\n", amortised ? " - b(x)" : "") + errors_text(a, names.part);
  if (a.labelled) {
    const LabelledAudit& l = *a.labelled;
    text += fmt::format("likelihood   NLL raw {}{}, exact {}{}; accuracy {}\n", decimals(l.nll_raw),
                        l.nll_amortised ? ", amortised " + decimals(*l.nll_amortised) : "",
                        decimals(l.nll_exact), unseen_words(l.unseen), decimals(l.accuracy));
    text += fmt::format("calibration  ECE of {} probabilities {}, of exact ones {}\n", names.kind,
                        decimals(l.ece), decimals(l.ece_exact));
  } else {
    text += "likelihood   the inputs have no labels\n";
  }
  text += fmt::format(
      "decidedness  mean KL from uniform {} of log K = {}; {} of inputs give {} \"probability\" above 1\n",
      decimals(a.kl_uniform), decimals(std::log(static_cast<double>(a.classes))),
      percent(a.above_one, kDigits), amortised ? "an amortised" : "a raw");
  const std::string cut = locale_glyphs() == Glyphs::unicode ? "\u2026" : "...";
  std::vector<std::string> worst;
  for (const AuditedInput& input : a.worst_inputs) {
    const bool is_named = input.target < names.labels.size();
    worst.push_back(fmt::format("{}{} ({})", input.example,
                                is_named ? ": " + shown_label(names.labels[input.target], cut) : "",
                                with_sign(input.error)));
  }
  return certificate_and_worst(
      wrapped(text + variance_text(a) + part_text(a.certificate, names.kind, names.part)), worst);
}

}  // namespace selfnorm::cli
