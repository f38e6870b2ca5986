#include "api/lossless.h"

#include "base/failure.h"
#include "normalizer/output_stream.h"

namespace selfnorm {

LosslessHead normalise_lossless(const ModelFile& model, const ExampleSource& rows,
                                const std::function<void(ModelFile&)>& round,
                                const LosslessOptions& options) {
  if (rows.examples() < 2)
    throw_error("found {} rows to normalise on; expected at least 2, and rather 10 for each of {} features",
                rows.examples(), model.features);
  const auto [kept, held_out] = random_split(rows.examples(), options.hold_out, options.seed);
  const ExampleSubset fitted(rows, kept), judging(rows, held_out);
  LosslessHead out{.model = model, .gauge = {}, .before = {}, .after = {}};
  out.model.normalizer = {};
  GaugeRegression regression(fitted, model.features);
  OutputStream(model, fitted).run([&](const OutputBlock& block) {
    std::vector<double> log_z;
    for (const OutputRow& row : block.rows) log_z.push_back(row.moments.log_z());
    regression.add(block.data, log_z);
  });
  out.gauge = regression.fit_for_prediction();
  apply_gauge(out.gauge, out.model);
  round(out.model);
  out.before = audit(model, judging, options.audit);
  out.after = audit(out.model, judging, options.audit);
  return out;
}

}  // namespace selfnorm
