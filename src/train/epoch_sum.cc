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
  std::vector<double> s;
  checkpoint.get("epoch_sum", s);
  return {s.at(0), s.at(1), s.at(2), s.at(3), s.at(4), s.at(5), s.at(6), s.at(7), s.at(8), s.at(9), s.at(10)};
}

}  // namespace selfnorm
