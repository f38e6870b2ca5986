#include <cmath>

#include "api/inputs.h"
#include "api/rows.h"
#include "audit/error_audit.h"
#include "base/failure.h"
#include "family/classifier/normalize/amortise.h"
#include "model/normalizer_network.h"
#include "selfnorm/head.h"

namespace selfnorm {
namespace {

constexpr uint64_t kFewestStates = 20, kJudgedAtOnce = 4096;

std::vector<double> picked_values(std::span<const double> from, std::span<const uint64_t> places) {
  std::vector<double> out;
  for (const uint64_t place : places) out.push_back(from[place]);
  return out;
}

}  // namespace

FittedNormalizer fit_normalizer(const Rows& states, std::span<const double> log_z,
                                const NormalizerFitOptions& given) {
  check_rows(states);
  if (log_z.size() != states.rows())
    throw_error("found {} values of log Z for {} states; expected one each", log_z.size(), states.rows());
  for (size_t i = 0; i < log_z.size(); ++i)
    if (!std::isfinite(log_z[i]))
      throw_error("log Z {} (from 0) is {}; expected finite numbers, no NaN and no infinity", i, log_z[i]);
  if (states.rows() < kFewestStates)
    throw_error("found {} states; expected at least {}, and rather 10 for each of {} features", states.rows(),
                kFewestStates, states.columns());
  require_range(given.hold_out > 0 && given.hold_out <= 0.5, "hold_out", given.hold_out,
                "more than 0, at most 0.5");
  const auto source = make_input_source(states, {.columns = states.columns()});
  const auto [fitting, judging] = random_split(states.rows(), given.hold_out, given.seed);
  AmortiseOptions amortise;
  amortise.kind = given.hidden > 0 ? "mlp" : "linear";
  if (given.hidden > 0) amortise.network.hidden = given.hidden;
  amortise.network.seed = given.seed;
  AmortisedNormalizer b =
      fit_amortised(ExampleSubset(*source, fitting), picked_values(log_z, fitting), amortise).normalizer;
  ErrorAuditor auditor({.rho = given.rho, .confidence = given.confidence, .with_v_star = false});
  for (uint64_t begin = 0; begin < judging.size(); begin += kJudgedAtOnce) {
    const auto places =
        std::span(judging).subspan(begin, std::min<uint64_t>(kJudgedAtOnce, judging.size() - begin));
    const std::vector<double> found = values_of(b, source->gather(places).features);
    for (size_t i = 0; i < places.size(); ++i) auditor.add(places[i], log_z[places[i]] - found[i]);
  }
  const ErrorAudit audit = auditor.finish();
  return {.b = {b.intercept, std::move(b.slope), std::move(b.hidden_weight), std::move(b.hidden_bias),
                std::move(b.output)},
          .fitted = fitting.size(),
          .certified = judging.size(),
          .mean = audit.log_z.mean,
          .rms = audit.log_z.rms,
          .eps = audit.certificate.smallest_eps};
}

}  // namespace selfnorm
