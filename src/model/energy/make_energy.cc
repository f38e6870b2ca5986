#include "model/energy/make_energy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/failure.h"
#include "model/energy/autoregressive_energy.h"
#include "model/energy/exponential_family.h"
#include "model/energy/torchscript.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm {
namespace {

class ZeroPass final : public EnergyPass {
 public:
  std::span<const double> forward(const Points& x) override {
    score_.assign(x.rows, 0);
    return score_;
  }
  void backward(std::span<const double>, std::span<float>) override {}

 private:
  std::vector<double> score_;
};

class ZeroEnergy final : public Energy {
 public:
  explicit ZeroEnergy(uint32_t dimension) : dimension_(dimension) {}

  uint32_t dimension() const override { return dimension_; }
  std::span<float> parameters() override { return {}; }
  std::span<const float> parameters() const override { return {}; }
  std::unique_ptr<EnergyPass> make_pass() const override { return std::make_unique<ZeroPass>(); }
  void score(const Points&, std::span<double> s) const override { std::fill(s.begin(), s.end(), 0); }
  void score_gradient(const Points&, std::span<double> s, std::span<float> dx) const override {
    std::fill(s.begin(), s.end(), 0);
    std::fill(dx.begin(), dx.end(), 0.0f);
  }
  void directional(const Points&, const Points&, std::span<double> first,
                   std::span<double> second) const override {
    std::fill(first.begin(), first.end(), 0);
    std::fill(second.begin(), second.end(), 0);
  }
  void directional_backward(const Points&, const Points&, std::span<const double>, std::span<const double>,
                            std::span<float>) const override {}
  EnergyRecord record() const override {
    return {.kind = "zero", .settings = "{}", .tensors = {{"dimension", {dimension_, 0}, {}}}, .module = {}};
  }

 private:
  uint32_t dimension_;
};

bool is_module(const std::string& word) { return word.ends_with(".pt"); }

struct Word {
  std::string name, argument;
  bool has_argument = false;
};

Word split(const std::string& word) {
  const size_t colon = word.find(':');
  if (colon == std::string::npos) return {word, "", false};
  return {word.substr(0, colon), word.substr(colon + 1), true};
}

// "128,64" as numbers of 1 .. most.
std::vector<uint32_t> sizes(const std::string& word, const std::string& list, uint32_t most) {
  std::vector<uint32_t> out;
  const char *at = list.data(), *end = at + list.size();
  while (true) {
    uint32_t n = 0;
    const auto [next, error] = std::from_chars(at, end, n);
    if (error != std::errc() || n < 1 || n > most || (next != end && *next != ','))
      throw_error(
          "energy '{}': '{}' is no list of sizes; expected numbers of 1 .. {} with commas between them", word,
          list, most);
    out.push_back(n);
    if (next == end) return out;
    at = next + 1;
  }
}

MlpOptions mlp_options(MlpOptions options, const std::string& word) {
  const Word w = split(word);
  if (w.has_argument) options.widths = sizes(word, w.argument, 4096);
  options.validate();
  return options;
}

RbmOptions rbm_options(const EnergyPlan& plan) {
  RbmOptions options{.dimension = plan.dimension, .seed = plan.seed};
  const Word w = split(plan.word);
  if (!w.has_argument) return options;
  const auto hidden = sizes(plan.word, w.argument, 65536);
  if (hidden.size() != 1)
    throw_error("energy '{}' has {} sizes; expected the number of hidden units, as in rbm:64", plan.word,
                hidden.size());
  options.hidden = hidden[0];
  return options;
}

AutoregressiveEnergy::Shape autoregressive_shape(const std::string& word, uint32_t dimension) {
  AutoregressiveEnergy::Shape shape{.dimension = dimension};
  if (const Word w = split(word); w.has_argument) shape.features = sizes(word, w.argument, 4096);
  return shape;
}

std::unique_ptr<Energy> zero_energy(const EnergyRecord& record) {
  const bool is_good = record.tensors.size() == 1 && record.tensors[0].shape.size() == 2 &&
                       record.tensors[0].shape[0] > 0 && record.tensors[0].shape[0] <= UINT32_MAX;
  if (!is_good) throw Error("the record of an energy of zero is damaged: it has no dimension");
  return make_zero_energy(static_cast<uint32_t>(record.tensors[0].shape[0]));
}

}  // namespace

std::unique_ptr<Energy> make_zero_energy(uint32_t dimension) {
  return std::make_unique<ZeroEnergy>(dimension);
}

std::vector<std::string> energy_names() {
  std::vector<std::string> out = {"mlp"};
  for (const std::string& name : exponential_family_names()) out.push_back(name);
  out.push_back("rbm");
  out.push_back("autoregressive");
  return out;
}

bool is_exponential_family(const std::string& word) {
  const auto names = exponential_family_names();
  const Word w = split(word);
  return std::find(names.begin(), names.end(), w.name) != names.end() &&
         w.has_argument == (w.name == "family");
}

void check_energy_word(const std::string& word) {
  if (is_module(word)) return;
  const std::string name = split(word).name;
  if (name == "mlp") {
    mlp_options({}, word);
  } else if (name == "rbm") {
    EnergyPlan plan;
    plan.word = word;
    rbm_options(plan);
  } else if (name == "autoregressive") {
    autoregressive_shape(word, 1);
  } else if (is_exponential_family(word)) {
    check_family_word(word);
  } else {
    throw_error(
        "energy '{}' is not known; expected one of {} (mlp:128,128, rbm:64, autoregressive:64,64, "
        "family:x,x2,x4), or a "
        "TorchScript file that ends in .pt",
        word, fmt::join(energy_names(), ", "));
  }
}

std::unique_ptr<Energy> make_energy(const EnergyPlan& plan) {
  check_energy_word(plan.word);
  if (is_module(plan.word)) return load_torchscript(plan.word, plan.dimension, plan.code);
  const std::string name = split(plan.word).name;
  if (name == "mlp" && !plan.space.wraps.empty()) {
    const DirectionMap map = DirectionMap::of(plan.space);
    return make_directed(make_mlp(map.features(), mlp_options(plan.mlp, plan.word), plan.seed), map);
  }
  if (name == "mlp") return make_mlp(plan.dimension, mlp_options(plan.mlp, plan.word), plan.seed);
  if (name == "rbm") return make_rbm(rbm_options(plan));
  if (name == "autoregressive")
    return std::make_unique<AutoregressiveEnergy>(autoregressive_shape(plan.word, plan.dimension), plan.seed);
  return std::make_unique<ExponentialFamily>(FamilyPlan{plan.word, plan.dimension, plan.lower, plan.upper});
}

std::unique_ptr<Energy> make_energy(const EnergyRecord& record, EmbeddedCode code) {
  if (auto directed = make_directed(record, code)) return directed;
  if (record.kind == "mlp") return make_mlp(record);
  if (record.kind == "rbm") return make_rbm(record);
  if (record.kind == "autoregressive") return std::make_unique<AutoregressiveEnergy>(record);
  if (record.kind == "torchscript") return make_torchscript(record, code);
  if (record.kind == "zero") return zero_energy(record);
  const auto names = exponential_family_names();
  if (std::find(names.begin(), names.end(), record.kind) != names.end())
    return make_exponential_family(record);
  throw_error(
      "the file holds an energy of kind '{}', which this program does not know; it is damaged or was written "
      "by a newer selfnorm",
      runtime::shortened(record.kind));
}

namespace {

std::string described(const Support& support) {
  if (support.space == Support::Space::counts) return "whole numbers from 0";
  if (support.is_mixed()) return "numbers, and whole numbers below their levels in the other columns";
  if (support.space == Support::Space::levels) {
    const uint32_t most = *std::max_element(support.levels.begin(), support.levels.end());
    return most == 2 ? "0 or 1 in every column" : "whole numbers below the levels of every column";
  }
  if (support.lower.empty()) return "finite numbers";
  std::vector<std::string> sides;
  for (size_t j = 0; j < support.lower.size(); ++j)
    sides.push_back(fmt::format("[{:.6g}, {:.6g}]", support.lower[j], support.upper[j]));
  if (std::equal(sides.begin() + 1, sides.end(), sides.begin())) return "values in " + sides[0];
  return "values in " + runtime::shortened(fmt::format("{}", fmt::join(sides, " x ")));
}

}  // namespace

void require_inside(const Energy& energy, const Points& x, std::span<const uint64_t> numbers,
                    uint64_t first) {
  const Support support = energy.support();
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (contains(support, x.row(i))) continue;
    throw_error("row {} is ({}), outside the support of {}: expected {}; drop it or choose another family",
                numbers.empty() ? first + i : numbers[i],
                runtime::shortened(fmt::format("{}", fmt::join(x.row(i), ", "))), energy.record().kind,
                described(support));
  }
}

void require_consent(EmbeddedCode code, const std::string& name, size_t bytes) {
  if (code == EmbeddedCode::run) return;
  throw_error(
      "{}: holds a TorchScript module, a program of {} bytes, which would run with your rights (your files, "
      "your network); it was not loaded. Take such files only from those whose programs you would run; for "
      "this one, give `allow-code` or set SELFNORM_ALLOW_CODE=1",
      name, bytes);
}

}  // namespace selfnorm
