#include "proposal/density/make_density.h"

#include <charconv>
#include <cmath>

#include "base/failure.h"
#include "proposal/autoregressive/autoregressive_fit.h"
#include "proposal/density/composed.h"
#include "proposal/density/elliptical.h"
#include "proposal/density/gaussian_mixture.h"
#include "proposal/density/kernel_density.h"
#include "proposal/density/product_mixture.h"
#include "proposal/density/products.h"
#include "proposal/density/tree_mixture.h"
#include "proposal/direction/direction_mixture.h"

namespace selfnorm {
namespace {

// The argument of a word as a number; throws Error unless it is one in [low, high].
double number_of(const std::string& argument, double low, double high, const char* expected) {
  double value = 0;
  const char* end = argument.data() + argument.size();
  const auto [stop, error] = std::from_chars(argument.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= low && value <= high))
    throw_error("'{}' is no argument of a density; expected {}", argument, expected);
  return value;
}

void no_argument(const std::string& argument) {
  if (!argument.empty()) throw_error("'{}' is an argument of a density that has none", argument);
}

PrecisionRoot::Shape shape_of(const std::string& argument) {
  if (argument.empty()) return PrecisionRoot::Shape::full;
  if (argument == "diagonal") return PrecisionRoot::Shape::diagonal;
  throw_error("'{}' is no argument of gaussian; expected 'diagonal' or none", argument);
}

template <uint32_t kDefault>
uint32_t components_of(const std::string& argument) {
  constexpr const char* kExpected = "a whole number in [1, 4096]";
  const double value = argument.empty() ? kDefault : number_of(argument, 1, 4096, kExpected);
  if (value != std::floor(value))
    throw_error("'{}' is no argument of a density; expected {}", argument, kExpected);
  return static_cast<uint32_t>(value);
}

double dof_of(const std::string& argument) {
  return argument.empty() ? 4 : number_of(argument, 0.1, 1e6, "student-t:DOF, a number in [0.1, 1e6]");
}

// 0: chosen by the data.
double bandwidth_of(const std::string& argument) {
  return argument.empty() ? 0 : number_of(argument, 1e-6, 1e6, "kde:BANDWIDTH, a number in [1e-6, 1e6]");
}

// Levels as the data have them where nothing else is known of them.
Support space_of(const Points& data, const FitOptions& options) {
  return options.space.is_real() ? level_support(data) : options.space;
}

DirectionMap map_of(const FitOptions& options) {
  if (options.space.wraps.empty())
    throw_error(
        "directions, kernels and neighbours are for angles, the sphere and mixed tables: `space torus` or "
        "sphere, or "
        "`periodic`");
  return DirectionMap::of(options.space);
}

struct Kind {
  const char* name;
  void (*check)(const std::string& argument);
  std::unique_ptr<Density> (*fit)(const std::string& argument, const Points& data, const FitOptions& options);
};

template <auto fit>
std::unique_ptr<Density> fitted(const std::string&, const Points& data, const FitOptions&) {
  return fit(data);
}

const Kind kKinds[] = {
    {"uniform", no_argument,
     [](const std::string&, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       if (options.space.wraps.empty()) return fit_uniform_box(data, options.space);
       return uniform_directions(DirectionMap::of(options.space));
     }},
    {"gaussian", [](const std::string& a) { shape_of(a); },
     [](const std::string& a, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       const std::unique_ptr<Gaussian> q = fit_gaussian(data, shape_of(a));
       const std::vector<double> scale(q->dimension(), options.scale);
       return std::make_unique<Gaussian>(q->mean(), q->root().unscaled(scale));
     }},
    {"mixture", [](const std::string& a) { components_of<32>(a); },
     [](const std::string& a, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       return fit_gaussian_mixture(data, components_of<32>(a), options);
     }},
    {"student-t", [](const std::string& a) { dof_of(a); },
     [](const std::string& a, const Points& data, const FitOptions&) -> std::unique_ptr<Density> {
       return fit_student_t(data, dof_of(a));
     }},
    {"kde", [](const std::string& a) { bandwidth_of(a); },
     [](const std::string& a, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       return fit_kernel_density(data, bandwidth_of(a), options.seed);
     }},
    {"bernoulli", no_argument, fitted<fit_bernoulli_product>},
    {"categorical", no_argument, fitted<fit_categorical_product>},
    {"counts", no_argument, fitted<fit_count_product>},
    {"products", [](const std::string& a) { components_of<16>(a); },
     [](const std::string& a, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       const uint32_t components = components_of<16>(a);
       if (options.space.is_mixed())
         return fit_direction_mixture(data, map_of(options), {.components = components, .seed = options.seed})
             .density;
       return fit_product_mixture(data, space_of(data, options),
                                  {.components = components, .starts = 3, .seed = options.seed})
           .density;
     }},
    {"trees", [](const std::string& a) { components_of<1>(a); },
     [](const std::string& a, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       if (options.space.is_mixed())
         throw Error(
             "a proposal 'trees' does not fit the data, which are real numbers and levels; expected "
             "products, "
             "kernels, neighbours or autoregressive");
       return fit_tree_mixture(data, space_of(data, options),
                               {.components = components_of<1>(a), .seed = options.seed})
           .density;
     }},
    {"directions", [](const std::string& a) { components_of<16>(a); },
     [](const std::string& a, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       return fit_direction_mixture(data, map_of(options),
                                    {.components = components_of<16>(a), .seed = options.seed})
           .density;
     }},
    {"kernels", [](const std::string& a) { bandwidth_of(a); },
     [](const std::string& a, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       return fit_direction_kernels(data, map_of(options), bandwidth_of(a), options.seed);
     }},
    {"neighbours", [](const std::string& a) { components_of<12>(a); },
     [](const std::string& a, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       const uint32_t k = components_of<12>(a);
       return std::move(fit_neighbour_kernels(data, map_of(options), {&k, 1}, options.seed).front());
     }},
    {"autoregressive", [](const std::string& a) { components_of<256>(a); },
     [](const std::string& a, const Points& data, const FitOptions& options) -> std::unique_ptr<Density> {
       const uint32_t width = components_of<256>(a);
       return fit_autoregressive(data, {}, autoregressive_heads(data, options.space),
                                 {.widths = {width, width}, .seed = options.seed})
           .density;
     }},
};

struct Word {
  const Kind* kind;
  std::string argument;
};

Word parsed(const std::string& word) {
  const size_t colon = word.find(':');
  const std::string name = word.substr(0, colon);
  require_one_of("density", name, density_names());
  if (colon != std::string::npos && colon + 1 == word.size())
    throw_error("density '{}' ends after the colon; expected an argument or no colon", word);
  for (const Kind& kind : kKinds)
    if (name == kind.name) return {&kind, colon == std::string::npos ? "" : word.substr(colon + 1)};
  throw Bug("a density without a fit");
}

}  // namespace

std::vector<std::string> density_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

void check_density_word(const std::string& word) {
  const Word w = parsed(word);
  w.kind->check(w.argument);
}

std::unique_ptr<Density> fit_density(const std::string& word, const Points& data, const FitOptions& options) {
  check_density_word(word);
  const Word w = parsed(word);
  return truncated_to(options.space, w.kind->fit(w.argument, data, options), options.seed);
}

std::unique_ptr<Density> make_density(const DensityRecord& record, uint32_t dimension) {
  const std::pair<const char*, std::unique_ptr<Density> (*)(const DensityRecord&, uint32_t)> restorers[] = {
      {"uniform", restore_uniform_box},
      {"gaussian", restore_gaussian},
      {"gaussian-diagonal", restore_gaussian},
      {"mixture", restore_gaussian_mixture},
      {"student-t", restore_student_t},
      {"kde", restore_kernel_density},
      {"bernoulli", restore_bernoulli_product},
      {"categorical", restore_categorical_product},
      {"counts", restore_count_product},
      {"products", restore_product_mixture},
      {"trees", restore_tree_mixture},
      {"autoregressive", restore_autoregressive},
      {"stacked", restore_stacked},
      {"truncated", restore_truncated},
      {"directions", restore_direction_mixture},
  };
  if (dimension == 0) throw Error("a density has no columns; its file is damaged");
  for (const auto& [kind, restore] : restorers)
    if (record.kind == kind) return restore(record, dimension);
  throw_error("the density '{}' is not known; its file is damaged or of a newer version", record.kind);
}

}  // namespace selfnorm
