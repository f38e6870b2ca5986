#include "proposal/density/gaussian_terms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "random_data.h"

namespace selfnorm {
namespace {

// Each term at each of the four points against PrecisionRoot, for sizes around the padding.
TEST(GaussianTerms, AgreeWithOneComponentAtATime) {
  for (const uint32_t d : {1u, 2u, 5u})
    for (const size_t components : {size_t{1}, size_t{8}, size_t{11}}) {
      const std::vector<double> constant = random_vector<double>(components, 1);
      const std::vector<double> mean = random_vector<double>(components * d, 2);
      const std::vector<double> x = random_vector<double>(4 * d, 3);
      std::vector<PrecisionRoot> roots;
      for (size_t k = 0; k < components; ++k) {
        const auto full = PrecisionRoot::Shape::full;
        roots.push_back(PrecisionRoot::of_parameters(
            full, d, random_vector<double>(PrecisionRoot::size(full, d), 10 + k)));
      }
      for (const bool is_unit : {false, true}) {
        const GaussianTerms terms(d, constant, mean, is_unit ? std::span<const PrecisionRoot>() : roots);
        const size_t stride = terms.stride();
        ASSERT_EQ(stride % 8, 0u);
        std::vector<double> z(4 * d * stride), term(4 * stride), unused(z.size()), along(term.size());
        terms.evaluate(x.data(), z.data(), term.data());
        terms.evaluate_direction(x.data(), unused.data(), along.data());
        std::vector<double> pulled = z;
        terms.pull_back(pulled.data());
        for (size_t r = 0; r < 4; ++r) {
          for (size_t k = 0; k < components; ++k) {
            std::vector<double> v(x.begin() + static_cast<ptrdiff_t>(r * d),
                                  x.begin() + static_cast<ptrdiff_t>((r + 1) * d));
            std::vector<double> own = v;
            for (size_t j = 0; j < d; ++j) own[j] -= mean[k * d + j];
            if (!is_unit) {
              roots[k].whiten(own);
              roots[k].whiten(v);
            }
            double square = 0, direction = 0;
            for (size_t j = 0; j < d; ++j) {
              EXPECT_NEAR(z[(r * d + j) * stride + k], own[j], 1e-12 * (1 + std::abs(own[j])));
              square += own[j] * own[j];
              direction += v[j] * v[j];
            }
            EXPECT_NEAR(term[r * stride + k], constant[k] - 0.5 * square, 1e-12 * (1 + square));
            EXPECT_NEAR(along[r * stride + k], -0.5 * direction, 1e-12 * (1 + direction));
            if (!is_unit) roots[k].pull_back(own);
            for (size_t j = 0; j < d; ++j)
              EXPECT_NEAR(pulled[(r * d + j) * stride + k], own[j], 1e-11 * (1 + std::abs(own[j])));
          }
          for (size_t k = components; k < stride; ++k) EXPECT_EQ(term[r * stride + k], -INFINITY);
        }
      }
    }
}

}  // namespace
}  // namespace selfnorm
