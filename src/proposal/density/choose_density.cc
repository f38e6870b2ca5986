#include "proposal/density/choose_density.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "proposal/autoregressive/autoregressive_fit.h"
#include "proposal/density/composed.h"
#include "proposal/density/product_mixture.h"
#include "proposal/density/tree_mixture.h"
#include "proposal/direction/direction_mixture.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint64_t kChoiceStream = 0x31C7;
constexpr uint64_t kMostJudges = 4000;
constexpr double kLeastGain = 0.002;    // nats, for a stack
constexpr double kLeastWeight = 0.005;  // of a member
constexpr double kDefensive = 0.002;    // share of a mixture beside a network, which costs as much in nats
constexpr uint32_t kMostProducts = 256, kMostTrees = 64, kMostGaussians = 64, kMostDirections = 512;
constexpr double kOperations = 2e10;  // of an iteration of a mixture of products or trees
constexpr size_t kMostTreeFeatures = 1024, kMostNetworkFeatures = 4096, kFewFeatures = 100;
constexpr uint32_t kMostKernelColumns = 16, kMostMixtureColumns = 50;
constexpr uint64_t kLeastNetworkRows = 500;

class Choice {
 public:
  using Effort = ChoiceOptions::Effort;

  Choice(const Points& data, const Points& held_out, const ChoiceOptions& options)
      : data_(data), held_out_(held_out), options_(options), space_(options.fit.space) {}

  DensityChoice take() {
    if (space_.space == Support::Space::levels)
      try_levels();
    else if (space_.space == Support::Space::counts)
      try_counts();
    else if (!space_.wraps.empty())
      try_directions(space_.is_mixed() ? "products" : "directions");
    else
      try_reals();
    return best();
  }

 private:
  struct Member {
    std::string word;
    std::shared_ptr<const Density> density;
    std::vector<double> log_q;  // of the held-out rows
    double nll = 0;
  };

  // Its NLL on the held-out rows.
  double add(std::string word, std::unique_ptr<Density> whole) {
    const std::shared_ptr<const Density> density = truncated_to(space_, std::move(whole), options_.fit.seed);
    Member member{std::move(word), density, std::vector<double>(held_out_.rows), 0};
    density_log_prob(*member.density, held_out_, member.log_q);
    for (const double l : member.log_q) member.nll -= l / static_cast<double>(held_out_.rows);
    if (std::isnan(member.nll)) member.nll = kInfinity;
    members_.push_back(std::move(member));
    if (options_.say) {
      const double least = std::ranges::min_element(members_, {}, &Member::nll)->nll;
      options_.say(fmt::format(
          "trying densities to start from: {}, NLL {:.4f} on held-out rows, best so far {:.4f}",
          members_.back().word, members_.back().nll + options_.log_volume, least + options_.log_volume));
    }
    return members_.back().nll;
  }
  double add(const std::string& word) { return add(word, fit_density(word, data_, options_.fit)); }

  // At most so many components, of so many operations in an iteration each.
  static uint32_t within(uint32_t most, double operations) {
    return static_cast<uint32_t>(std::clamp(kOperations / operations, 4.0, static_cast<double>(most)));
  }

  // make(k) for k = first, first factor, ... as long as the likelihood gains; the best k.
  template <class Make>
  uint32_t grow(const char* name, uint32_t first, uint32_t factor, uint32_t most, uint64_t rows_each,
                const Make& make) {
    double least = kInfinity;
    uint32_t best = first;
    for (uint32_t k = first; k <= most && k * rows_each <= data_.rows; k *= factor) {
      const double nll = add(fmt::format("{}:{}", name, k), make(k, options_.fit.seed));
      if (!(nll < least - kLeastGain)) break;
      least = nll;
      best = k;
    }
    return best;
  }

  void try_levels() {
    const bool is_binary = std::ranges::all_of(space_.levels, [](uint32_t n) { return n == 2; });
    const size_t features =
        std::accumulate(space_.levels.begin(), space_.levels.end(), size_t{0}) - space_.levels.size();
    add(is_binary ? "bernoulli" : "categorical");
    if (options_.effort == Effort::learnable) return;
    const double rows = static_cast<double>(data_.rows), cells = static_cast<double>(data_.size());
    double filled = 0;
    for (size_t i = 0; i < data_.size(); ++i) filled += data_.data[i] != 0 ? 1 : 0;
    const auto products = [&](uint32_t k, uint64_t seed) {
      return std::unique_ptr<Density>(
          fit_product_mixture(data_, space_, {.components = k, .seed = seed}).density);
    };
    const uint32_t best =
        grow("products", 4, 4, within(kMostProducts, 20 * std::max(filled, 0.05 * cells)), 20, products);
    if (options_.effort == Effort::quick) return;
    for (uint64_t again = 1; again <= 2; ++again)
      add(fmt::format("products:{}", best), products(best, RandomStream(options_.fit.seed, again).next()));
    const auto trees = [&](uint32_t k, uint64_t seed) {
      return std::unique_ptr<Density>(
          fit_tree_mixture(data_, space_, {.components = k, .seed = seed}).density);
    };
    if (features <= kMostTreeFeatures && data_.columns > 1)
      grow("trees", 1, 4, within(kMostTrees, 2 * rows * std::pow(static_cast<double>(features), 2)), 50,
           trees);
    if (features <= kMostNetworkFeatures) try_networks(features <= kFewFeatures ? 4 : 2);
  }

  void try_counts() {
    add("counts");
    if (options_.effort == Effort::learnable) return;
    grow("products", 4, 4, kMostProducts, 20, [&](uint32_t k, uint64_t seed) {
      return std::unique_ptr<Density>(
          fit_product_mixture(data_, space_, {.components = k, .seed = seed}).density);
    });
  }

  void try_reals() {
    add(data_.columns <= kMostMixtureColumns ? "mixture:1" : "gaussian");
    if (data_.columns <= kMostMixtureColumns)
      grow("mixture", 2, 2, kMostGaussians, 20, [&](uint32_t k, uint64_t) {
        return std::unique_ptr<Density>(fit_density(fmt::format("mixture:{}", k), data_, options_.fit));
      });
    const auto is_end = [](double side) { return std::isfinite(side); };
    if (!space_.lower.empty() && std::ranges::all_of(space_.lower, is_end) &&
        std::ranges::all_of(space_.upper, is_end))
      add("uniform");
    if (data_.columns < 3 || options_.effort != Effort::full) return;
    if (data_.columns <= kMostKernelColumns) add("kde");
    if (!options_.is_smooth) try_networks(2);
  }

  // `name` of the mixtures: of a mixed table they are products of columns of both kinds.
  void try_directions(const char* name) {
    const DirectionMap map = DirectionMap::of(space_);
    add(fmt::format("{}:1", name));
    const auto mixtures = [&](uint32_t k, uint64_t seed) {
      return std::unique_ptr<Density>(
          fit_direction_mixture(data_, map, {.components = k, .seed = seed}).density);
    };
    const uint32_t best = grow(name, 4, 2, kMostDirections, 8, mixtures);
    if (options_.effort != Effort::full) return;
    const bool is_mixed = space_.is_mixed();
    for (uint64_t again = 1; again <= (is_mixed ? 1 : 3); ++again)
      add(fmt::format("{}:{}", name, best), mixtures(best, RandomStream(options_.fit.seed, again).next()));
    const std::vector<double> factors =
        is_mixed ? std::vector{1.0, 0.2, 5.0} : std::vector{1.0, 0.2, 0.04, 5.0, 25.0};
    const double concentration = kernel_concentration(data_, map, options_.fit.seed);
    for (const double factor : factors)
      add(fmt::format("kernels:{:.4g}", factor * concentration),
          fit_direction_kernels(data_, map, factor * concentration, options_.fit.seed));
    const std::vector<uint32_t> neighbours{2, 6, 16, 40};
    auto fitted = fit_neighbour_kernels(data_, map, neighbours, options_.fit.seed);
    for (size_t i = 0; i < neighbours.size(); ++i)
      add(fmt::format("neighbours:{}", neighbours[i]), std::move(fitted[i]));
    if (!map.is_sphere() && !options_.is_smooth) try_networks(2);
  }

  // The first with the columns as they are, for what depends on the others often stands last.
  void try_networks(uint64_t count) {
    if (data_.columns < 2 || data_.rows < kLeastNetworkRows) return;
    for (uint64_t i = 0; i < count; ++i)
      add("autoregressive",
          fit_autoregressive(
              data_, held_out_, autoregressive_heads(data_, space_),
              {.is_shuffled = i > 0, .seed = RandomStream(options_.fit.seed, kChoiceStream + i).next()})
              .density);
  }

  DensityChoice best() {
    std::ranges::stable_sort(members_, {}, &Member::nll);
    DensityChoice out;
    for (const Member& m : members_) out.tried.push_back({m.word, m.nll});
    const Member& first = members_.front();
    out.word = first.word;
    out.nll = first.nll;
    std::vector<std::shared_ptr<const Density>> stack;
    std::vector<double> weight, log_q;
    const auto stack_of = [&](const auto& takes) {
      stack.clear();
      log_q.clear();
      for (size_t m = 0; m < members_.size(); ++m) {
        if (!takes(m)) continue;
        stack.push_back(members_[m].density);
        log_q.insert(log_q.end(), members_[m].log_q.begin(), members_[m].log_q.end());
      }
      weight = stacking_weights(log_q, stack.size());
    };
    stack_of([](size_t) { return true; });
    stack_of([all = weight](size_t m) { return all[m] >= kLeastWeight; });
    const auto shown = [&](double nll) { return nll + options_.log_volume; };
    if (options_.effort == Effort::full && stack.size() > 1 &&
        std::ranges::all_of(weight, [](double w) { return w > 0; })) {
      defend(stack, weight);
      DensityChoice both;
      take_stack(both, stack, weight);
      if (both.nll < out.nll - kLeastGain) {
        out.text = fmt::format(
            "the proposal is {} densities stacked, NLL {:.4f} on held-out rows; the best of them alone is "
            "{}, {:.4f}",
            stack.size(), shown(both.nll), first.word, shown(first.nll));
        out.density = std::move(both.density);
        out.word = both.word;
        out.nll = both.nll;
        return out;
      }
    }
    out.text = fmt::format("the proposal is {}, NLL {:.4f} on held-out rows, the best of {}", first.word,
                           shown(first.nll), members_.size());
    stack = {first.density};
    weight = {1};
    if (options_.effort == Effort::full && defend(stack, weight)) {
      take_stack(out, stack, weight);
      out.text += fmt::format(", with a share of {} of a mixture", kDefensive);
    } else {
      out.density = make_density(first.density->record(), data_.columns);
    }
    return out;
  }

  // The conditionals of a network are narrow where the data are, and a number beyond them is all but
  // impossible: networks alone get a mixture of Gaussians beside them, with a share of kDefensive.
  bool defend(std::vector<std::shared_ptr<const Density>>& stack, std::vector<double>& weight) const {
    const auto mixture = std::ranges::find_if(
        members_, [](const Member& member) { return member.word.starts_with("mixture"); });
    const bool has_others = std::ranges::any_of(stack, [](const auto& density) {
      return dynamic_cast<const Autoregressive*>(density.get()) == nullptr;
    });
    if (has_others || mixture == members_.end()) return false;
    const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
    for (double& w : weight) w *= (1 - kDefensive) / total;
    stack.push_back(mixture->density);
    weight.push_back(kDefensive);
    return true;
  }

  // Its likelihood of the held-out rows.
  void take_stack(DensityChoice& out, const std::vector<std::shared_ptr<const Density>>& stack,
                  const std::vector<double>& weight) const {
    out.density = std::make_unique<Stacked>(stack, weight);
    out.word = "stacked";
    std::vector<double> log_q(held_out_.rows);
    density_log_prob(*out.density, held_out_, log_q);
    out.nll = -std::accumulate(log_q.begin(), log_q.end(), 0.0) / static_cast<double>(held_out_.rows);
  }

  const Points &data_, &held_out_;
  const ChoiceOptions& options_;
  const Support& space_;
  std::vector<Member> members_;
};

}  // namespace

DensityChoice choose_density(const Points& data, const Points& held_out, const ChoiceOptions& options) {
  SELFNORM_CHECK(data.rows > 0);
  std::vector<uint64_t> judges;
  for (uint64_t i = 0; i < held_out.rows && judges.size() < kMostJudges; ++i)
    if (contains(options.fit.space, held_out.row(i))) judges.push_back(i);
  if (!judges.empty() || data.rows < 2) {
    const std::vector<float> rows =
        judges.empty() ? std::vector<float>(data.data, data.data + data.size()) : held_out.take(judges);
    return Choice(data, {rows.data(), rows.size() / data.columns, data.columns}, options).take();
  }
  const std::vector<uint64_t> order =
      random_permutation(data.rows, RandomStream(options.fit.seed, kChoiceStream));
  const uint64_t count = std::clamp<uint64_t>(data.rows / 10, 1, kMostJudges);
  const std::vector<float> part = data.take(std::span(order).first(count));
  const std::vector<float> rest = data.take(std::span(order).subspan(count));
  return Choice({rest.data(), data.rows - count, data.columns}, {part.data(), count, data.columns}, options)
      .take();
}

}  // namespace selfnorm
