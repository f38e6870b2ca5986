#include "selfnorm/train/epoch_sum.h"

namespace selfnorm {

void report_sum(const LossSum& sum, Progress& progress) {
  if (sum.weight > 0) {
    progress.loss += sum.mean_loss();
    progress.penalty = sum.penalty / sum.weight;
  }
  if (sum.normalised_weight > 0) {
    progress.nll = sum.mean_nll();
    progress.log_z_rms = sum.rms_log_z();
  }
  if (sum.estimated_weight > 0) {
    progress.log_ratio = sum.mean_log_ratio();
    progress.effective_samples = sum.mean_effective();
  }
}

void save_sum(const LossSum& s, Checkpoint& checkpoint) {
  checkpoint.set("epoch_sum", std::vector<double>{s.weight, s.likelihood, s.penalty, s.normalised_weight,
                                                  s.nll, s.log_z, s.log_z_square, s.d_centre,
                                                  s.estimated_weight, s.log_ratio, s.effective});
}

LossSum restored_sum(const Checkpoint& checkpoint) {
  std::vector<double> s(11);
  checkpoint.get("epoch_sum", s);
  return {s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10]};
}

}  // namespace selfnorm
