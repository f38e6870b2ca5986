#include "audit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluation_report.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kBarWidth = 50;

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

std::string histogram_text(const std::vector<HistogramBin>& bins) {
  uint64_t most = 1;
  for (const HistogramBin& bin : bins) most = std::max(most, bin.count);
  std::string text;
  for (size_t i = 0; i < bins.size(); ++i) {
    const double share = static_cast<double>(bins[i].count) / static_cast<double>(most);
    const auto width = static_cast<size_t>(std::ceil(share * static_cast<double>(kBarWidth)));
    const char* ends = bins.size() == 1 ? "  " : i == 0 ? "<=" : i + 1 == bins.size() ? ">=" : "  ";
    const double edge = i == 0 ? bins[i].to : bins[i].from;
    text += fmt::format("  {} {:>9.4f} |{:<{}} {}\n", ends, edge, std::string(width, '#'), kBarWidth,
                        grouped(bins[i].count));
  }
  return text;
}

std::string variance_text(const Audit& a) {
  std::string text = fmt::format("variance     of log Z {:.6g}", a.variance);
  if (!a.v_star) return text + "\n";
  if (*a.v_star >= a.variance * (1 - 1e-9)) return text + "; none of it can be removed without loss\n";
  text += fmt::format("; {:.6g} after the best lossless shift (V*)", *a.v_star);
  if (!a.v_star_adjusted)
    text += "; fitted with no more inputs than directions, so V* says nothing";
  else if (*a.v_star_adjusted > 1.2 * *a.v_star)
    text += fmt::format(", {:.6g} allowing for the directions fitted", *a.v_star_adjusted);
  if (a.v_star_adjusted && *a.v_star_adjusted < 0.9 * a.variance)
    text += "; 'selfnorm normalize' removes the difference at no cost";
  return text + "\n";
}

// Four digits, rounded up: what is printed can be claimed.
std::string rounded_up(double value) {
  if (!(value > 0)) return "0";
  const double unit = std::pow(10, std::floor(std::log10(value)) - 3);
  std::string text = fmt::format("{:.4g}", std::ceil(value / unit) * unit);
  if (std::stod(text) < value) text = fmt::format("{:.4g}", (std::ceil(value / unit) + 1) * unit);
  return text;
}

}  // namespace

std::string certificate_text(const Certificate& c) {
  const std::string percent = fmt::format("{:.6g}%", 100 * c.confidence);
  std::string text;
  if (c.certified) {
    text = fmt::format(
        "certificate  CERTIFIED: with confidence {}, at most {:.4g}% of inputs have an error above {:.4g} ",
        percent, 100 * c.rho, c.eps);
  } else {
    text = fmt::format(
        "certificate  NOT CERTIFIED: an error above {:.4g} in at most {:.4g}% of inputs, confidence {} ",
        c.eps, 100 * c.rho, percent);
  }
  text += fmt::format("({} of {} audited do; with that confidence at most {}% of all)\n", grouped(c.exceed),
                      grouped(c.n), rounded_up(100 * c.rho_bound));
  if (c.smallest_eps)
    return text + fmt::format("             smallest error bound that can be certified at {:.4g}%: {}\n",
                              100 * c.rho, rounded_up(*c.smallest_eps));
  const double needed = std::ceil(std::log1p(-c.confidence) / std::log1p(-c.rho));
  return text +
         fmt::format(
             "             {} inputs are too few to certify any bound at {:.4g}%; at least {} are needed\n",
             grouped(c.n), 100 * c.rho, grouped(static_cast<uint64_t>(needed)));
}

nlohmann::ordered_json errors_json(const ErrorAudit& a) {
  nlohmann::ordered_json log_z = log_z_json(a.log_z), quantiles = nlohmann::ordered_json::object();
  log_z["max_abs"] = std::max(std::abs(a.log_z.min), std::abs(a.log_z.max));
  for (const auto& [q, value] : a.quantiles) quantiles[fmt::format("{}", q)] = value;
  log_z["quantiles"] = quantiles;
  log_z["exact_quantiles"] = a.exact_quantiles;
  nlohmann::ordered_json histogram = nlohmann::ordered_json::array();
  for (const HistogramBin& bin : a.histogram)
    histogram.push_back({{"from", bin.from}, {"to", bin.to}, {"count", bin.count}});
  return {{"log_z", log_z}, {"histogram", histogram}};
}

nlohmann::ordered_json certified_json(const ErrorAudit& a) {
  nlohmann::ordered_json worst = nlohmann::ordered_json::array();
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

nlohmann::ordered_json audit_json(const Audit& a) {
  nlohmann::ordered_json out = {{"n", a.n}, {"classes", a.classes}};
  out.update(errors_json(a));
  const bool is_labelled = a.labelled.has_value();
  const auto label = [&](double LabelledAudit::*field) {
    return is_labelled ? nlohmann::ordered_json((*a.labelled).*field) : nlohmann::ordered_json();
  };
  out["nll_raw"] = label(&LabelledAudit::nll_raw);
  out["nll_exact"] = label(&LabelledAudit::nll_exact);
  if (is_labelled && a.labelled->nll_amortised) out["nll_amortised"] = *a.labelled->nll_amortised;
  out["accuracy"] = label(&LabelledAudit::accuracy);
  out["ece"] = label(&LabelledAudit::ece);
  out["ece_exact"] = label(&LabelledAudit::ece_exact);
  out["above_one"] = a.above_one;
  out["kl_uniform"] = a.kl_uniform;
  out["variance"] = a.variance;
  out["v_star"] = or_null(a.v_star);
  out["v_star_adjusted"] = or_null(a.v_star_adjusted);
  out.update(certified_json(a));
  return out;
}

std::string errors_text(const ErrorAudit& a) {
  const LogZStatistics& z = a.log_z;
  std::string text = fmt::format("  mean {:.4f}, std {:.4f}, rms {:.4f}, largest size {:.4f}\n  quantiles ",
                                 z.mean, z.std, z.rms, std::max(std::abs(z.min), std::abs(z.max)));
  for (const auto& [q, value] : a.quantiles) text += fmt::format(" {:.4g}%: {:.4f} ", 100 * q, value);
  return text + "\n" + histogram_text(a.histogram);
}

std::string certified_text(const ErrorAudit& a) {
  std::string text = certificate_text(a.certificate);
  if (a.worst.empty()) return text;
  text += "worst inputs ";
  for (size_t i = 0; i < a.worst.size(); ++i)
    text += fmt::format("{}{} ({:+.4f})", i == 0 ? "" : ", ", a.worst[i].example, a.worst[i].error);
  return text + "   (numbers from 0)\n";
}

std::string audit_text(const Audit& a, bool amortised) {
  std::string text = fmt::format("log Z - c{}\n", amortised ? " - b(x)" : "") + errors_text(a);
  const char* kind = amortised ? "amortised" : "raw";
  if (a.labelled) {
    const LabelledAudit& l = *a.labelled;
    text += fmt::format("likelihood   NLL {} {:.4f}, exact {:.4f}; accuracy {:.4f}\n", kind,
                        l.nll_amortised.value_or(l.nll_raw), l.nll_exact, l.accuracy);
    text += fmt::format("calibration  ECE of {} probabilities {:.4f}, of exact ones {:.4f}\n", kind, l.ece,
                        l.ece_exact);
  } else {
    text += "likelihood   the inputs have no labels\n";
  }
  text += fmt::format(
      "decidedness  mean KL from uniform {:.4f} of log K = {:.4f}; {:.4g}% of inputs give {} "
      "\"probability\" above 1\n",
      a.kl_uniform, std::log(static_cast<double>(a.classes)), 100 * a.above_one,
      amortised ? "an amortised" : "a raw");
  return text + variance_text(a) + certified_text(a);
}

}  // namespace selfnorm::cli
