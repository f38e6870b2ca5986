#include "selfnorm/head.h"

#include <cmath>

#include "api/inputs.h"
#include "api/lossless.h"
#include "api/rows.h"
#include "base/failure.h"
#include "family/classifier/normalize/amortise.h"
#include "model/head/head_file.h"
#include "normalizer/output_stream.h"

namespace selfnorm {
namespace {

ModelFile head_model(const Rows& weight, std::span<const float> bias, const Rows& states) {
  check_shape(weight);
  check_shape(states);
  if (states.columns() != weight.columns())
    throw_error("found states of {} numbers and weights of {}; expected the same", states.columns(),
                weight.columns());
  if (!bias.empty() && bias.size() != weight.rows())
    throw_error("found {} biases for {} rows of weights; expected one each, or none", bias.size(),
                weight.rows());
  ModelFile model;
  model.input = ModelInput::Dense;
  model.classes = static_cast<uint32_t>(weight.rows());
  model.features = weight.columns();
  model.weight.resize(weight.rows() * weight.columns());
  for (uint64_t k = 0; k < weight.rows(); ++k)
    weight.read(k, std::span(model.weight).subspan(k * weight.columns(), weight.columns()));
  model.bias.assign(weight.rows(), 0);
  for (size_t k = 0; k < bias.size(); ++k) {
    if (!std::isfinite(bias[k])) throw_error("bias {} (from 0) is {}; expected finite numbers", k, bias[k]);
    model.bias[k] = bias[k];
  }
  return model;
}

HeadKind stored_kind(HeadType type) {
  return type == HeadType::bfloat16  ? HeadKind::Bfloat16
         : type == HeadType::float16 ? HeadKind::Float16
                                     : HeadKind::Float32;
}

bool is_within(const AuditReport& found, double within) {
  return found.smallest_eps && *found.smallest_eps <= within;
}

}  // namespace

NormalizedHead normalize_head(const Rows& weight, std::span<const float> bias, const Rows& states,
                              const HeadOptions& given) {
  require_range(given.within > 0, "within", given.within, "a number > 0");
  require_range(given.hold_out > 0 && given.hold_out <= 0.5, "hold_out", given.hold_out,
                "more than 0, at most 0.5");
  LosslessOptions options{.hold_out = given.hold_out, .seed = given.seed};
  options.audit.eps = given.within;
  options.audit.rho = given.rho;
  options.audit.confidence = given.confidence;
  const auto source = make_input_source(states, {.columns = states.columns()});
  LosslessHead found = normalise_lossless(
      head_model(weight, bias, states), *source,
      [&](ModelFile& model) {
        Head stored;
        stored.kind = stored_kind(given.weight_type);
        stored.bias_kind = stored_kind(given.bias_type);
        stored.model = std::move(model);
        round_to_kind(stored);
        model = std::move(stored.model);
      },
      options);
  NormalizedHead out{.weight = {},
                     .bias = {},
                     .slope = std::move(found.gauge.slope),
                     .intercept = found.gauge.intercept,
                     .rung = "constant",
                     .normalizer = {},
                     .before = audit_report(found.before, false),
                     .after = audit_report(found.after, false),
                     .network = {}};
  if (!is_within(out.after, given.within)) {
    out.rung = "exact";
    if (given.hidden > 0) {
      const auto [kept, held_out] = random_split(source->examples(), given.hold_out, given.seed);
      const ExampleSubset fitted(*source, kept), judging(*source, held_out);
      AmortiseOptions amortise;
      amortise.kind = "mlp";
      amortise.network.hidden = given.hidden;
      amortise.network.seed = given.seed;
      if (fitted.examples() > 1)
        found.model.normalizer =
            fit_amortised(fitted, log_normalizers(found.model, fitted), amortise).normalizer;
      if (found.model.normalizer.exists()) {
        options.audit.amortised = true;
        out.network = audit_report(audit(found.model, judging, options.audit), true);
        AmortisedNormalizer& b = found.model.normalizer;
        if (is_within(*out.network, given.within)) {
          out.rung = "network";
          out.normalizer = {b.intercept, std::move(b.slope), std::move(b.hidden_weight),
                            std::move(b.hidden_bias), std::move(b.output)};
        }
      }
    }
  }
  out.weight = std::move(found.model.weight);
  out.bias = std::move(found.model.bias);
  return out;
}

std::vector<double> head_log_normalizers(const Rows& weight, std::span<const float> bias,
                                         const Rows& states) {
  return log_normalizers(head_model(weight, bias, states),
                         *make_input_source(states, {.columns = states.columns()}));
}

}  // namespace selfnorm
