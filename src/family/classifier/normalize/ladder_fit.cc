#include "family/classifier/normalize/ladder_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <optional>

#include "audit/error_audit.h"
#include "audit/rung_certificate.h"
#include "base/failure.h"
#include "document/section/audit_section.h"
#include "family/classifier/normalize/amortise.h"
#include "math/parallel.h"
#include "math/random.h"
#include "normalizer/ladder/cluster_masses.h"
#include "normalizer/ladder/nearest_fit.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {
namespace {

constexpr uint64_t kLadderStream = 0x6c616464, kPartStream = 0x70617274;  // "ladd", "part"
constexpr uint64_t kFewestFitted = 200;
constexpr double kMostScores = 4e12;  // multiplications that exact sums may take
constexpr double kTimedSeconds = 0.02;
constexpr int kTimedAtOnce = 4;
// The stops of rungs of kind nearest, in units of the error that is allowed.
constexpr double kStops[] = {4, 2, 1, 0.5, 0.33, 0.25, 0.2, 0.17, 0.14, 0.1, 0.07, 0.05};
constexpr uint32_t kNetworks[] = {64, 256};
constexpr size_t kFirstStop = 3, kMostTried = 5;  // where the search for a stop starts; how many it fits
// A larger b(x) has half the error of a smaller one at best; 99% of inputs are within 2.6 times the rms.
constexpr double kWorthANetwork = 2;

// Of this thread alone: others on the machine do not count.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class LadderFitting {
 public:
  LadderFitting(const ModelFile& model, const ExampleSource& fitting, const ExampleSource& certifying,
                const LadderOptions& options)
      : model_(model), fitting_inputs_(fitting), certifying_inputs_(certifying), options_(options) {}

  LadderFit operator()() {
    MeasuredRung exact;
    exact.name = "exact";
    exact.kind = RungKind::Exact;
    exact.cost = exact.most_cost = model_.classes;
    exact.eps = exact.rho = 0;
    exact.conf = 1;
    if (model_.family != Family::Multiclass)
      return exact_alone(exact, "the model needs no sum over its classes");
    if (model_.classes < std::max(2u, options_.from_classes))
      return exact_alone(exact, fmt::format("a sum over {} classes is cheap", model_.classes));
    if (!options_.certifies)
      return exact_alone(exact,
                         "the model was trained on these inputs, so they certify nothing; give others");
    const uint64_t needed = inputs_needed();
    if (certifying_inputs_.examples() < needed || fitting_inputs_.examples() < kFewestFitted)
      return exact_alone(
          exact, fmt::format("too few inputs that had no part in the model to certify anything: found {} to "
                             "fit to and {} to certify with, expected at least {} and {}; {} in all would do",
                             fitting_inputs_.examples(), certifying_inputs_.examples(), kFewestFitted, needed,
                             kFewestFitted + needed));
    take_inputs(needed);
    add_rungs();
    certify();
    time(exact);
    measured_.push_back(std::move(exact));
    return choose();
  }

  // That certify any error for this many rungs together, if none of them exceeds it.
  uint64_t inputs_needed() const {
    return selfnorm::inputs_needed(options_.rho, options_.confidence, most_rungs());
  }

 private:
  LadderFit exact_alone(MeasuredRung exact, std::string reason) const {
    LadderFit out;
    out.rungs.push_back(std::move(exact));
    out.reason = std::move(reason);
    return out;
  }

  runtime::Promise promise() const { return {options_.within, options_.rho, options_.confidence}; }
  bool has_clusters() const { return model_.classes >= kLadderClasses; }
  bool tries_all() const { return options_.tries_all || options_.keep_all || options_.max_cost > 0; }
  size_t most_rungs() const {
    size_t out = model_.normalizer.exists() ? 3 : 2;
    for (const uint32_t hidden : kNetworks) out += hidden + 1 < model_.classes ? 1 : 0;
    return out + (!has_clusters() ? 0 : tries_all() ? std::size(kStops) : kMostTried);
  }
  double doubt_of_each() const { return (1 - options_.confidence) / static_cast<double>(most_rungs()); }
  void step(const std::string& text) const {
    if (options_.on_step) options_.on_step(text);
  }

  void take_inputs(uint64_t needed) {
    const double by_input = static_cast<double>(model_.classes) * static_cast<double>(model_.features);
    const auto affordable = static_cast<uint64_t>(kMostScores / by_input);
    const auto part = [&](const ExampleSource& source, uint64_t most, uint64_t least) {
      std::vector<uint64_t> order =
          random_permutation(source.examples(), RandomStream(options_.seed, kLadderStream));
      order.resize(std::min<uint64_t>(order.size(), std::max(least, most)));
      std::sort(order.begin(), order.end());
      return source.gather(order);
    };
    fitting_ = part(fitting_inputs_, std::min(options_.most_fitted, affordable * 2 / 5), kFewestFitted);
    certifying_ = part(certifying_inputs_, std::min(options_.most_certified, affordable * 3 / 5), needed);
  }

  void add(std::string name, RungKind kind, AmortisedNormalizer b = {}) {
    LadderRung rung;
    rung.name = std::move(name);
    rung.kind = kind;
    rung.b = std::move(b);
    ladder_.rungs.push_back(std::move(rung));
  }

  void add_rungs() {
    const Features& x = fitting_.features;
    add("raw", RungKind::Raw);
    if (model_.normalizer.exists())
      add("amortised", model_.normalizer.hidden() > 0 ? RungKind::Network : RungKind::Linear);
    step("log-normalizers");
    const ExactSums sums(model_, x.is_sparse);
    const std::vector<double> log_z = sums.log_z(x);
    add_normalizers(log_z);
    if (has_clusters()) add_nearest(sums, log_z);
  }

  void add_normalizers(const std::vector<double>& log_z) {
    const Features& x = fitting_.features;
    std::vector<double> b = log_z;
    for (double& v : b) v -= model_.log_normalizer;
    const auto source = make_example_source(fitting_);
    AmortisedFit last;
    const auto fit = [&](const std::string& kind, uint32_t hidden) {
      step(hidden == 0 ? "linear b" : fmt::format("a network of {} units", hidden));
      AmortiseOptions amortise;
      amortise.kind = kind;
      amortise.network.hidden = std::max(1u, hidden);
      amortise.network.seed = options_.seed;
      if (last.linear.exists()) amortise.linear = &last.linear;
      last = fit_amortised(*source, b, amortise);
    };
    fit("linear", 0);
    add("linear", RungKind::Linear, last.normalizer);
    if (x.is_sparse) return;  // on thousands of features a network learns its inputs by heart
    for (const uint32_t hidden : kNetworks) {
      if (hidden + 1 >= model_.classes) continue;  // exact is cheaper
      if (!tries_all() && last.rms_held_out > kWorthANetwork * options_.within) return;
      fit("mlp", hidden);
      if (last.normalizer.hidden() > 0)
        add(fmt::format("network-{}", hidden), RungKind::Network, std::move(last.normalizer));
    }
  }

  void add_nearest(const ExactSums& sums, const std::vector<double>& log_z) {
    NearestOptions nearest;
    nearest.clusters = options_.clusters;
    nearest.tail.seed = options_.seed;
    nearest.tail.hidden = model_.classes < 10'000 ? 32 : 64;
    nearest.on_step = options_.on_step;
    if (options_.is_hasty) {
      nearest.iterations = 4;
      nearest.sampled = 8;
      nearest.tail.epochs = 20;
    }
    NearestFitting fitting(model_, sums, fitting_.features, log_z, nearest);
    std::map<size_t, NearestFitting::Tail> tried;  // by place in kStops
    const auto at = [&](size_t i) -> const NearestFitting::Tail& {
      const auto found = tried.find(i);
      return found != tried.end() ? found->second
                                  : tried.emplace(i, fitting.tail(kStops[i] * options_.within)).first->second;
    };
    if (tries_all()) {
      for (size_t i = 0; i < std::size(kStops); ++i) at(i);
    } else {
      // The coarsest stop that is good enough, and the next one, for the certificate may say otherwise.
      size_t begin = 0, end = std::size(kStops);
      for (size_t i = kFirstStop; begin < end; i = (begin + end) / 2) {
        if (is_good_enough(at(i).error))
          end = i;
        else
          begin = i + 1;
      }
      if (begin + 1 < std::size(kStops)) at(begin + 1);
    }
    for (auto& [i, tail] : tried) {
      tail.rung.name = fmt::format("nearest-{:.3g}", tail.rung.stop);
      ladder_.rungs.push_back(std::move(tail.rung));
    }
    ladder_.clusters = fitting.take_clusters();
  }

  // Of inputs that the tail was not fitted to: half of what is allowed, and no more than the inputs kept for
  // the certificate can allow, for the masses and this choice saw those.
  bool is_good_enough(const std::vector<double>& error) const {
    const auto far = std::count_if(error.begin(), error.end(),
                                   [&](double e) { return !(std::abs(e) <= 0.9 * options_.within); });
    const uint64_t n = certifying_.features.rows();
    const int64_t certifiable = largest_certifiable_count(n, options_.rho, 1 - doubt_of_each());
    const double share =
        std::min(0.5 * options_.rho, static_cast<double>(certifiable) / static_cast<double>(n));
    return static_cast<double>(far) <= share * static_cast<double>(error.size());
  }

  runtime::Scorer scorer() const {
    runtime::ModelLayout layout = layout_of(model_);
    layout.ladder = layout_of(ladder_, layout.normalizer);
    return runtime::Scorer(layout);
  }

  void certify() {
    step("certificates");
    const Features& x = certifying_.features;
    std::vector<double> exact;
    std::optional<NearestValues> nearest;
    {
      const ExactSums sums(model_, x.is_sparse);
      exact = sums.log_z(x);
      if (has_clusters() && sums.serves_clusters()) nearest.emplace(sums, ladder_.clusters, x, exact);
    }
    const runtime::LadderLayout layout = layout_of(ladder_, {});
    const runtime::Scorer scorer = this->scorer();
    const runtime::ModelLayout whole = layout_of(model_);
    for (size_t r = 0; r < ladder_.rungs.size(); ++r) {
      runtime::RungLayout rung = layout.rungs[r];
      if (rung.name == "amortised") rung.b = whole.normalizer;
      std::vector<double> size(x.rows()), cost(x.rows());
      std::vector<runtime::Approximation> known;
      if (nearest && rung.kind == RungKind::Nearest) known = nearest->of(ladder_.rungs[r]);
      parallel_ranges(x.rows(), 16, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          runtime::Approximation a;
          bool has_number = !known.empty() && std::isfinite(known[i].log_z);
          if (has_number)
            a = known[i];
          else
            has_number = scorer.log_normalizer(query_of(x, i), rung, &a);
          size[i] = has_number ? std::abs(a.log_z - exact[i]) : 0;  // the runtime then gives A itself
          cost[i] = has_number ? static_cast<double>(a.cost) : model_.classes;
        }
      });
      Rung& out = ladder_.rungs[r];
      MeasuredRung measured;
      double square = 0, sum = 0;
      for (size_t i = 0; i < size.size(); ++i) {
        square += size[i] * size[i];
        sum += cost[i];
        measured.most_cost = std::max(measured.most_cost, cost[i]);
      }
      out.eps = certified_error(size, options_.rho, options_.confidence, ladder_.rungs.size());
      std::sort(size.begin(), size.end());
      out.cost = sum / static_cast<double>(size.size());
      out.rms = std::sqrt(square / static_cast<double>(size.size()));
      out.rho = options_.rho;
      out.conf = options_.confidence;
      measured.q99 = size[static_cast<size_t>(0.99 * static_cast<double>(size.size() - 1))];
      static_cast<Rung&>(measured) = out;
      measured_.push_back(std::move(measured));
    }
  }

  void time(MeasuredRung& exact) {
    step("speed");
    const runtime::Scorer scorer = this->scorer();
    const runtime::ModelLayout whole = layout_of(model_);
    const runtime::LadderLayout layout = layout_of(ladder_, whole.normalizer);
    const auto nanoseconds = [&](const runtime::RungLayout& rung) {
      const double begin = thread_seconds();
      double seconds = 0;
      uint64_t done = 0;
      do {
        runtime::Approximation a;
        for (int i = 0; i < kTimedAtOnce; ++i)
          scorer.log_normalizer(query_of(certifying_.features, done++ % certifying_.features.rows()), rung,
                                &a);
        seconds = thread_seconds() - begin;
      } while (seconds < kTimedSeconds);
      return 1e9 * seconds / static_cast<double>(done);
    };
    for (size_t r = 0; r < measured_.size(); ++r) measured_[r].nanoseconds = nanoseconds(layout.rungs[r]);
    runtime::RungLayout whole_sum;
    whole_sum.kind = RungKind::Exact;
    exact.nanoseconds = nanoseconds(whole_sum);
  }

  LadderFit choose() {
    LadderFit out;
    const size_t n = ladder_.rungs.size();
    size_t chosen = n;  // exact
    for (size_t r = 0; r < n; ++r) {
      const Rung& rung = ladder_.rungs[r];
      const bool is_allowed = options_.max_cost > 0
                                  ? rung.cost <= options_.max_cost && std::isfinite(rung.eps)
                                  : rung.meets(promise());
      const bool is_better = chosen == n || (options_.max_cost > 0 ? rung.eps < ladder_.rungs[chosen].eps
                                                                   : rung.cost < ladder_.rungs[chosen].cost);
      if (is_allowed && is_better && rung.cost < model_.classes) chosen = r;
    }
    out.reason = chosen < n              ? options_.max_cost > 0 ? "the most precise rung of that cost"
                                                                 : "the cheapest rung that is certified"
                 : options_.max_cost > 0 ? "no rung of that cost is certified"
                                         : "no cheaper rung is certified";
    bool has_nearest = false;
    for (size_t r = 0; r < n; ++r) {
      const LadderRung& rung = ladder_.rungs[r];
      if (!options_.keep_all && r != chosen && rung.kind != RungKind::Raw) continue;
      if (rung.cost >= model_.classes) continue;  // exact is cheaper
      has_nearest = has_nearest || rung.kind == RungKind::Nearest;
      out.ladder.rungs.push_back(rung);
    }
    if (has_nearest) out.ladder.clusters = std::move(ladder_.clusters);
    out.ladder.promise = promise();
    if (options_.max_cost > 0 && chosen < n)
      out.ladder.promise.within = std::max(1e-12, measured_[chosen].eps);
    const std::string name = measured_[chosen].name;
    std::stable_sort(measured_.begin(), measured_.end() - 1,
                     [](const MeasuredRung& a, const MeasuredRung& b) { return a.cost < b.cost; });
    out.rungs = std::move(measured_);
    for (size_t r = 0; r < out.rungs.size(); ++r)
      if (out.rungs[r].name == name) out.chosen = r;
    out.fitted = fitting_.features.rows();
    out.certified = certifying_.features.rows();
    return out;
  }

  const ModelFile& model_;
  const ExampleSource &fitting_inputs_, &certifying_inputs_;
  const LadderOptions& options_;
  Dataset fitting_, certifying_;
  Ladder ladder_;
  std::vector<MeasuredRung> measured_;
};

}  // namespace

void LadderOptions::validate() const {
  require_range(within > 0, "within", within, "a number > 0");
  require_range(rho > 0 && rho < 1, "rho", rho, "a number between 0 and 1");
  require_range(confidence > 0 && confidence < 1, "conf", confidence, "a number between 0 and 1");
  require_range(max_cost >= 0, "max-cost", max_cost, "a number of dot products, at least 0");
  require_range(clusters <= runtime::kMostClusters, "clusters", clusters, "0 (chosen) to 8192");
}

LadderFit fit_ladder(const ModelFile& model, const ExampleSource& fitting, const ExampleSource& certifying,
                     const LadderOptions& options) {
  options.validate();
  if (fitting.is_joint())
    throw Error("a model of alternatives has no ladder: its groups are summed as they are");
  return LadderFitting(model, fitting, certifying, options)();
}

LadderFit fit_ladder(const ModelFile& model, const ExampleSource& inputs, const LadderOptions& options) {
  options.validate();
  if (inputs.examples() < 2) return fit_ladder(model, inputs, inputs, options);
  const std::vector<uint64_t> order =
      random_permutation(inputs.examples(), RandomStream(options.seed, kPartStream));
  const uint64_t needed = LadderFitting(model, inputs, inputs, options).inputs_needed();
  const auto middle =
      order.begin() + static_cast<std::ptrdiff_t>(fitted_of(order.size(), needed, kFewestFitted));
  return fit_ladder(model, ExampleSubset(inputs, {order.begin(), middle}),
                    ExampleSubset(inputs, {middle, order.end()}), options);
}

std::string chosen_text(const LadderFit& fit) {
  const MeasuredRung& best = fit.best();
  if (fit.is_exact()) return fmt::format("exact: {}", fit.reason);
  return fmt::format(
      "{}, {}: within {} for {:.4g}% of inputs (confidence {:.4g}%), {:.0f} of {:.0f} dot products, "
      "{:.3g} times "
      "as fast as exact",
      best.name, fit.reason, rounded_up(best.eps, 2), 100 * (1 - best.rho), 100 * best.conf, best.cost,
      fit.exact().cost, fit.exact().nanoseconds / best.nanoseconds);
}

}  // namespace selfnorm
