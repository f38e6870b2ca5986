// A family and an objective that nothing else in the program knows: a loaded die, p(y) = exp(theta_y) / Z
// with Z = sum_k exp(theta_k), from a file with a face, 1 to 6, a line; and -log p + alpha A^4 with A = log
// Z.
#include <cmath>
#include <fstream>

#include "classifier/model_header.h"
#include "family.h"
#include "model/stored_record.h"
#include "objective/registry.h"
#include "output.h"
#include "run/report_output.h"
#include "run/training_run.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kFaces = 6;

struct Quartic final : Objective {
  explicit Quartic(double strength) : alpha(strength) {}
  LossTerms operator()(const ExampleScores& x) const override {
    const double a = x.log_z, cube = alpha * a * a * a;
    return {.likelihood = a - x.score, .penalty = a * cube, .d_score = -1, .d_log_z = 1 + 4 * cube};
  }
  double alpha;
};

double log_z(const std::vector<float>& theta) {
  double z = 0;
  for (const float t : theta) z += std::exp(static_cast<double>(t));
  return std::log(z);
}

std::vector<size_t> rolls(const std::string& path) {
  std::ifstream file(path);
  std::vector<size_t> out;
  for (size_t face = 0; file >> face && face >= 1 && face <= kFaces;) out.push_back(face - 1);
  if (out.empty()) throw Error(path + ": found no rolls, expected a face a line");
  return out;
}

nlohmann::ordered_json measured(const std::vector<float>& theta, const std::vector<size_t>& data) {
  double raw = 0;
  for (const size_t y : data) raw -= theta[y] / static_cast<double>(data.size());
  return {{"n", data.size()}, {"nll_raw", raw}, {"nll_exact", raw + log_z(theta)}, {"log_z", log_z(theta)}};
}

// Gradient descent, a pass over the rolls a step.
class DieTraining final : public Training, public Problem {
 public:
  explicit DieTraining(const Arguments& arguments) : given_(arguments.train) {
    objective_ = make_objective(given_.options.objective);
    plan_.steps = given_.options.epochs;
  }
  ReadData read(const std::string&) override {
    data_ = rolls(given_.train);
    return {};
  }
  RunResult train(const CheckpointOptions& checkpoint, TrainObserver& observer) override {
    RunResult result;
    result.take(selfnorm::run(*this, checkpoint, Fingerprint().add(data_).text(), observer));
    return result;
  }
  Verdict judge() override {
    if (data_.size() < 2) throw Error("found one roll; expected two to judge by");
    const auto audit = measured(theta_, data_);
    return {.data = "training", .audit = audit, .table = audit.dump() + "\n", .nll = audit["nll_exact"]};
  }
  void save(const std::string& path) const override {
    write_safetensors(path, {make_tensor<float>("theta", runtime::Dtype::F32, {kFaces}, theta_)},
                      {{"format", std::string(runtime::kFormat)}, {"family", "die"}});
  }
  void show(const std::string&, ReportDocument& out) override {
    out.cards.push_back({"log_z", "log Z", std::to_string(log_z(theta_)), log_z(theta_), "exact log Z"});
  }

  const Plan& plan() const override { return plan_; }
  Step move(uint64_t, double factor) override {
    const double a = log_z(theta_), n = static_cast<double>(data_.size());
    std::vector<double> slope(kFaces);
    double loss = 0;
    for (const size_t y : data_) {
      const LossTerms terms = (*objective_)({.score = theta_[y], .log_z = a});
      loss += (terms.likelihood + terms.penalty) / n;
      slope[y] += terms.d_score / n;
      for (size_t k = 0; k < kFaces; ++k) slope[k] += terms.d_log_z * std::exp(theta_[k] - a) / n;
    }
    for (size_t k = 0; k < kFaces; ++k) theta_[k] -= static_cast<float>(0.1 * factor * slope[k]);
    return std::isfinite(loss) ? Step{} : Step::diverged();
  }
  void take(Snapshot& out) const override { out.floats = theta_; }
  void put(const Snapshot& snapshot) override { theta_ = snapshot.floats; }
  void state(CheckpointFields& fields, uint64_t) override { fields("theta", theta_); }

 private:
  const TrainArguments& given_;
  std::unique_ptr<Objective> objective_;
  Plan plan_;
  std::vector<size_t> data_;
  std::vector<float> theta_ = std::vector<float>(kFaces);
};

std::vector<float> load(const std::string& model) {
  const std::string path = finished_model_path(model);
  const runtime::MappedFile file(path);
  const runtime::Safetensors content = runtime::parse_safetensors(file.bytes(), path);
  const auto theta =
      runtime::LayoutReader{content, path}.tensor<float>("theta", runtime::Dtype::F32, {kFaces});
  return {theta.begin(), theta.end()};
}

int evaluate(const Arguments& a) {
  print_json(measured(load(a.evaluate.models[0]), rolls(a.evaluate.data)));
  return 0;
}

int score(const Arguments& a) {
  const std::vector<float> theta = load(a.score.model);
  for (const size_t y : rolls(a.score.data)) print_json({{"log_prob", theta[y] - log_z(theta)}});
  return 0;
}

int audit(const Arguments& a) {
  const auto json = measured(load(a.audit.model), rolls(a.audit.data));
  put_out_audit(a, audit_place(a.audit), {a.audit.model, "audit", "A die"}, {json, json.dump()});
  return 0;
}

const bool is_registered = [] {
  register_objective({.name = "quartic",
                      .text = "-log p + alpha A^4",
                      .offers = {{"die", {"alpha"}}},
                      .make = [](const ObjectiveOptions& o) { return std::make_unique<Quartic>(o.alpha); }});
  CommandFamily die{.name = "die", .text = "Train a loaded die.", .data = "ROLLS", .noun = "a die"};
  die.options = [](Arguments& a) {
    OptionTable table = objective_option_table("die", a.train.options.objective);
    table.add("epochs", &a.train.options.epochs, "Passes over the rolls").at_least(1);
    return table;
  };
  die.training = [](const Arguments& a) { return std::make_unique<DieTraining>(a); };
  die.commands = {{"evaluate", evaluate}, {"score", score}, {"audit", audit}};
  register_family(std::move(die));
  return true;
}();

}  // namespace
}  // namespace selfnorm::cli
