#include "data/toy/toys.h"

#include <algorithm>
#include <charconv>

#include "base/failure.h"
#include "base/memory.h"
#include "data/toy/kinds.h"
#include "math/parallel.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr size_t kToyRowsPerBlock = 256;

struct ToyKind {
  const char* name;
  uint32_t least, usual, most;  // dimensions
  std::unique_ptr<Toy> (*make)(uint32_t dimension, uint64_t seed);
};

template <std::unique_ptr<Toy> (*make)()>
std::unique_ptr<Toy> plane(uint32_t, uint64_t) {
  return make();
}

template <std::unique_ptr<Toy> (*make)(uint32_t)>
std::unique_ptr<Toy> sized(uint32_t dimension, uint64_t) {
  return make(dimension);
}

constexpr uint32_t kMostDimensions = 65536;
constexpr ToyKind kKinds[] = {
    {"checkerboard", 2, 2, 2, plane<make_checkerboard>},
    {"four-circles", 2, 2, 2, plane<make_four_circles>},
    {"funnel", 2, 2, 2, plane<make_funnel>},
    {"pinwheel", 2, 2, 2, plane<make_pinwheel>},
    {"two-moons", 2, 2, 2, plane<make_two_moons>},
    {"eight-gaussians", 2, 2, 2, plane<make_eight_gaussians>},
    {"ring", 2, 2, 2, plane<make_ring>},
    {"spirals", 2, 2, 2, plane<make_spirals>},
    {"mixture", 1, 2, kMostDimensions, sized<make_mixture>},
    {"gaussian", 1, 2, kMostDimensions, sized<make_gaussian>},
    {"ising", 1, 10, 20, make_ising},
};

uint64_t parse_seed(const std::string& word, const std::string& argument) {
  uint64_t seed = 0;
  const char* end = argument.data() + argument.size();
  const auto [stop, error] = std::from_chars(argument.data(), end, seed);
  if (stop != end || error != std::errc())
    throw_error("toy '{}': expected ising or ising:SEED with a whole number", word);
  return seed;
}

// All 2^d states; bit j of a state is x_j.
class Ising final : public Toy {
 public:
  Ising(uint32_t dimension, const IsingParameters& parameters) : dimension_(dimension) {
    const size_t states = size_t{1} << dimension;
    log_p_.assign(states, 0);
    // The score of a state is that of the state without its highest bit, plus that bit's share.
    for (uint32_t j = 0; j < dimension; ++j) {
      for (size_t low = 0; low < size_t{1} << j; ++low) {
        double share = parameters.bias[j];
        for (uint32_t i = 0; i < j; ++i)
          if ((low >> i & 1) != 0) share += parameters.coupling[pair(i, j)];
        log_p_[low | size_t{1} << j] = log_p_[low] + share;
      }
    }
    LogSumExp total;
    for (const double s : log_p_) total.add(s);
    double sum = 0;
    for (double& s : log_p_) {
      s -= total.value();
      sum += std::exp(s);
      cumulative_.push_back(sum);
    }
  }

  uint32_t dimension() const override { return dimension_; }
  Support support() const override { return Support::binary(dimension_); }
  void draw(RandomStream& random, std::span<float> x) const override {
    const double u = random.uniform() * cumulative_.back();
    const auto place = std::upper_bound(cumulative_.begin(), cumulative_.end(), u);
    const auto state = std::min(static_cast<size_t>(place - cumulative_.begin()), cumulative_.size() - 1);
    for (uint32_t j = 0; j < dimension_; ++j) x[j] = static_cast<float>(state >> j & 1);
  }
  double log_density(std::span<const float> x) const override {
    if (!contains(support(), x)) return -INFINITY;
    size_t state = 0;
    for (uint32_t j = 0; j < dimension_; ++j) state |= static_cast<size_t>(x[j]) << j;
    return log_p_[state];
  }
  double entropy() const override {
    double sum = 0;
    for (const double log_p : log_p_) sum -= std::exp(log_p) * log_p;
    return sum;
  }

 private:
  size_t pair(uint32_t i, uint32_t j) const {  // (i, j), i < j, row by row
    return size_t{i} * (2 * size_t{dimension_} - i - 1) / 2 + (j - i - 1);
  }

  uint32_t dimension_;
  std::vector<double> log_p_, cumulative_;
};

}  // namespace

std::vector<std::string> toy_names() {
  std::vector<std::string> names;
  for (const ToyKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::unique_ptr<Toy> make_toy(const std::string& word, uint32_t dimension) {
  const size_t colon = word.find(':');
  const std::string name = word.substr(0, colon);
  const auto kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const ToyKind& k) { return k.name == name; });
  const bool has_argument = colon != std::string::npos;
  if (kind == std::end(kKinds) || (has_argument && name != "ising"))
    throw_error("toy '{}' is not known; expected one of {}", word, fmt::join(toy_names(), ", "));
  const uint64_t seed = has_argument ? parse_seed(word, word.substr(colon + 1)) : 0;
  if (dimension == 0) dimension = kind->usual;
  if (dimension < kind->least || dimension > kind->most)
    throw_error("toy {} in {} dimensions: expected {}", name, dimension,
                kind->least == kind->most ? fmt::format("{}", kind->least)
                                          : fmt::format("{} to {}", kind->least, kind->most));
  return kind->make(dimension, seed);
}

std::vector<float> sample_toy(const Toy& toy, uint64_t rows, uint64_t seed) {
  const uint64_t d = toy.dimension();
  require_memory(4.0 * static_cast<double>(rows) * static_cast<double>(d),
                 fmt::format("{} rows of {} numbers", rows, d), "ask for fewer");
  std::vector<float> out(rows * d);
  parallel_ranges(rows, kToyRowsPerBlock, [&](size_t begin, size_t end) {
    RandomStream random(seed, begin / kToyRowsPerBlock);
    for (size_t i = begin; i < end; ++i) toy.draw(random, std::span(out).subspan(i * d, d));
  });
  return out;
}

void toy_log_density(const Toy& toy, const Points& x, std::span<double> out) {
  SELFNORM_CHECK(x.columns == toy.dimension() && out.size() == x.rows);
  parallel_ranges(x.rows, kToyRowsPerBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = toy.log_density(x.row(i));
  });
}

// sum_j h_j s_j + sum J_ij s_i s_j with s = 2 x - 1: couplings 4 J_ij, biases 2 h_j - 2 sum_i J_ij.
IsingParameters ising_parameters(uint32_t dimension, uint64_t seed) {
  RandomStream random(seed, dimension);
  IsingParameters out;
  for (uint32_t j = 0; j < dimension; ++j) out.bias.push_back(2 * 0.3 * random.normal());
  for (uint32_t i = 0; i < dimension; ++i) {
    for (uint32_t j = i + 1; j < dimension; ++j) {
      const double coupling = random.normal() / std::sqrt(dimension);
      out.coupling.push_back(4 * coupling);
      out.bias[i] -= 2 * coupling;
      out.bias[j] -= 2 * coupling;
    }
  }
  return out;
}

std::unique_ptr<Toy> make_ising(uint32_t dimension, uint64_t seed) {
  return std::make_unique<Ising>(dimension, ising_parameters(dimension, seed));
}

}  // namespace selfnorm
