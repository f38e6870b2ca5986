#include "base/failure.h"
#include "commands.h"
#include "grammar/arguments.h"
#include "output.h"
#include "selfnorm/checkpoint.h"

namespace selfnorm::cli {
namespace {

Json log_z_json(const AuditReport& a) {
  return {{"mean", a.mean},
          {"std", a.deviation},
          {"rms", a.rms},
          {"min", a.least},
          {"max", a.largest},
          {"certified", a.certified},
          {"rho_bound", a.rho_bound},
          {"smallest_eps", a.smallest_eps ? Json(*a.smallest_eps) : Json()}};
}

std::string log_z_line(const char* name, const AuditReport& a) {
  return fmt::format("log Z {:<7} mean {:.4f}   std {:.4f}   rms {:.4f}\n", name, a.mean, a.deviation, a.rms);
}

std::string certificate_line(const AuditReport& a) {
  if (!a.smallest_eps)
    return fmt::format("certificate   none: {} held-out states are too few for {:g}% with confidence {:g}%\n",
                       grouped(a.rows), 100 * a.rho, 100 * a.confidence);
  return fmt::format(
      "certificate   with {:g}% confidence, {:g}% of states like these have raw log-probabilities within "
      "{:.4g}\n",
      100 * a.confidence, 100 * (1 - a.rho), *a.smallest_eps);
}

}  // namespace

int normalize_directory(const Arguments& arguments) {
  const NormalizeArguments& given = arguments.normalize;
  arguments.refuse(
      {"--delta", "--budget", "--targets", "--amortise", "--hidden", "--within", "--max-cost", "--keep",
       "--clusters"},
      "a checkpoint directory is normalised without loss alone; take its head out into a file of its own");
  if (given.states.empty())
    throw_error("{}: normalising needs what goes into the head; give --states FILE, or a folder of shards",
                given.head);
  const NormalizedCheckpoint found = normalize_checkpoint(given.head, given.states,
                                                          {.out = given.out,
                                                           .states_name = given.states_name,
                                                           .weight_name = arguments.head.weight,
                                                           .bias_name = arguments.head.bias,
                                                           .vocabulary = given.vocabulary,
                                                           .links = given.link,
                                                           .hold_out = given.hold_out,
                                                           .rho = arguments.ladder.rho,
                                                           .confidence = arguments.ladder.confidence,
                                                           .seed = given.seed});
  for (const std::string& text : found.notes) warning(text);
  const Json json = {{"head", given.head},
                     {"states", given.states},
                     {"out", found.out},
                     {"shard", found.shard},
                     {"weight", found.weight},
                     {"was_tied", found.was_tied},
                     {"classes", found.classes},
                     {"features", found.features},
                     {"log_normalizer", found.log_normalizer},
                     {"logit_scale", found.scale},
                     {"probability_difference", found.probability},
                     {"before", log_z_json(found.before)},
                     {"after", log_z_json(found.after)}};
  std::string text = fmt::format(
      "{}: {} x {}{}{}; {} states, {} held out\n", given.head, grouped(found.classes),
      grouped(found.features),
      found.was_tied ? ", tied to the embeddings; written untied as " + found.weight : ", " + found.weight,
      found.scale == 1 ? "" : fmt::format(", times {:g}, folded in", found.scale),
      grouped(found.states + found.held_out), grouped(found.held_out));
  text +=
      log_z_line("before", found.before) + log_z_line("after", found.after) + certificate_line(found.after);
  text += fmt::format("probabilities differ by at most {:.2g} (rounding to the dtype of the file)\n",
                      found.probability);
  if (found.log_normalizer != 0)
    text +=
        fmt::format("the head has no bias: log p = logit - {:.6g}, metadata selfnorm.log_normalizer of {}\n",
                    found.log_normalizer, found.shard);
  put_out(arguments.common, json, text + fmt::format("written       {}\n", found.out));
  return 0;
}

}  // namespace selfnorm::cli
