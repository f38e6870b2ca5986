#include "selfnorm/data/toys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "selfnorm/base/error.h"
#include "selfnorm/base/memory.h"
#include "selfnorm/math/parallel.h"
#include "toy/kinds.h"

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
    throw Error(fmt::format("toy '{}': expected ising or ising:SEED with a whole number", word));
  return seed;
}

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
    throw Error(fmt::format("toy '{}' is not known; expected one of {}", word, fmt::join(toy_names(), ", ")));
  const uint64_t seed = has_argument ? parse_seed(word, word.substr(colon + 1)) : 0;
  if (dimension == 0) dimension = kind->usual;
  if (dimension < kind->least || dimension > kind->most)
    throw Error(fmt::format("toy {} in {} dimensions: expected {}", name, dimension,
                            kind->least == kind->most ? fmt::format("{}", kind->least)
                                                      : fmt::format("{} to {}", kind->least, kind->most)));
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

}  // namespace selfnorm
