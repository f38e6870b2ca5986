#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "model/energy/make_energy.h"

namespace selfnorm {
namespace {

constexpr const char* kDirections = "directions";
constexpr const char* kColumnLevels = "levels";
constexpr uint32_t kMostColumnLevels = 65536;

class DirectedPass final : public EnergyPass {
 public:
  DirectedPass(std::unique_ptr<EnergyPass> inner, const DirectionMap& map)
      : inner_(std::move(inner)), map_(map) {}

  std::span<const double> forward(const Points& x) override {
    phi_ = map_.apply(x);
    return inner_->forward({phi_.data(), x.rows, map_.features()});
  }
  void backward(std::span<const double> d, std::span<float> gradient) override {
    inner_->backward(d, gradient);
  }

 private:
  std::unique_ptr<EnergyPass> inner_;
  const DirectionMap& map_;
  std::vector<float> phi_;
};

class DirectedEnergy final : public Energy {
 public:
  DirectedEnergy(std::unique_ptr<Energy> inner, DirectionMap map)
      : inner_(std::move(inner)), map_(std::move(map)) {
    SELFNORM_CHECK(inner_->dimension() == map_.features());
  }

  uint32_t dimension() const override { return map_.dimension(); }
  Support support() const override { return map_.support(); }
  std::span<float> parameters() override { return inner_->parameters(); }
  std::span<const float> parameters() const override { return std::as_const(*inner_).parameters(); }
  void parameters_changed() override { inner_->parameters_changed(); }
  std::unique_ptr<EnergyPass> make_pass() const override {
    return std::make_unique<DirectedPass>(inner_->make_pass(), map_);
  }

  void score(const Points& x, std::span<double> s) const override {
    const std::vector<float> phi = map_.apply(x);
    inner_->score(of(phi), s);
  }
  void score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const override {
    const std::vector<float> phi = map_.apply(x);
    std::vector<float> slope(phi.size());
    inner_->score_gradient(of(phi), s, slope);
    std::vector<double> g(map_.features()), own(map_.dimension());
    for (uint64_t i = 0; i < x.rows; ++i) {
      for (size_t f = 0; f < g.size(); ++f) g[f] = slope[i * g.size() + f];
      map_.pull_back(x.row(i).data(), g.data(), own.data());
      for (size_t j = 0; j < own.size(); ++j) dx[i * own.size() + j] = static_cast<float>(own[j]);
    }
  }
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override {
    const Directions at = directions(x, v);
    inner_->directional(of(at.phi), of(at.first), first, second);
    if (second.empty()) return;
    std::vector<double> bend(x.rows);
    inner_->directional(of(at.phi), of(at.second), bend, {});
    for (uint64_t i = 0; i < x.rows; ++i) second[i] += bend[i];
  }
  void directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                            std::span<const double> d_second, std::span<float> gradient) const override {
    const Directions at = directions(x, v);
    inner_->directional_backward(of(at.phi), of(at.first), d_first, d_second, gradient);
    if (!d_second.empty()) inner_->directional_backward(of(at.phi), of(at.second), d_second, {}, gradient);
  }

  EnergyRecord record() const override {
    EnergyRecord out = inner_->record();
    auto settings = nlohmann::json::parse(out.settings);
    for (size_t j = 0; j < map_.dimension(); ++j)
      settings[kDirections].push_back(map_.is_sphere() ? 2 : map_.is_angle(j) ? 1 : 0);
    if (!support().is_real()) settings[kColumnLevels] = map_.levels();
    out.settings = settings.dump();
    return out;
  }

 private:
  struct Directions {
    std::vector<float> phi, first, second;
  };
  Points of(const std::vector<float>& phi) const {
    return {phi.data(), phi.size() / map_.features(), map_.features()};
  }
  Directions directions(const Points& x, const Points& v) const {
    const size_t width = map_.features();
    Directions out{map_.apply(x), std::vector<float>(x.rows * width), std::vector<float>(x.rows * width)};
    std::vector<double> one(width), two(width);
    for (uint64_t i = 0; i < x.rows; ++i) {
      map_.along(x.row(i).data(), v.row(i).data(), one.data(), two.data());
      for (size_t f = 0; f < width; ++f) {
        out.first[i * width + f] = static_cast<float>(one[f]);
        out.second[i * width + f] = static_cast<float>(two[f]);
      }
    }
    return out;
  }

  std::unique_ptr<Energy> inner_;
  DirectionMap map_;
};

}  // namespace

std::unique_ptr<Energy> make_directed(std::unique_ptr<Energy> inner, const DirectionMap& map) {
  return std::make_unique<DirectedEnergy>(std::move(inner), map);
}

std::unique_ptr<Energy> make_directed(const EnergyRecord& record, EmbeddedCode code) {
  auto settings = nlohmann::json::parse(record.settings, nullptr, false);
  if (!settings.is_object() || !settings.contains(kDirections)) return nullptr;
  std::vector<bool> is_angle;
  bool is_sphere = true;
  const auto& kinds = settings[kDirections];
  for (const auto& kind : kinds) {
    if (!kind.is_number_integer()) throw Error("the record of an energy has directions that are no numbers");
    is_angle.push_back(kind == 1);
    is_sphere = is_sphere && kind == 2;
  }
  if (is_angle.empty() || (is_sphere && is_angle.size() != 2))
    throw Error("the record of an energy has directions that are no points");
  std::vector<uint32_t> levels(is_angle.size());
  if (settings.contains(kColumnLevels)) {
    const auto is_good = [](const nlohmann::json& n) {
      return n.is_number_unsigned() && n <= kMostColumnLevels;
    };
    const auto& stored = settings[kColumnLevels];
    if (!stored.is_array() || stored.size() != levels.size() || !std::ranges::all_of(stored, is_good))
      throw Error("the record of an energy has levels that are no numbers of them");
    levels = stored.get<std::vector<uint32_t>>();
  }
  const DirectionMap map =
      is_sphere ? DirectionMap::sphere() : DirectionMap::mixed(std::move(is_angle), std::move(levels));
  settings.erase(kDirections);
  settings.erase(kColumnLevels);
  EnergyRecord inner = record;
  inner.settings = settings.dump();
  auto energy = make_energy(inner, code);
  if (energy->dimension() != map.features())
    throw_error("the record of an energy takes {} numbers; its directions give {}", energy->dimension(),
                map.features());
  return make_directed(std::move(energy), map);
}

}  // namespace selfnorm
