// A classifier of nine colours: the raw log-probability of one class beside its exact one.
#include <cstdio>
#include <selfnorm/selfnorm.hpp>

int main() {
  const float x[] = {.9f, .1f, .2f, .8f, .3f, .1f, 1.f, .0f, .3f, .2f, .8f, .1f, .3f, .9f,
                     .3f, .0f, .7f, .2f, .1f, .2f, .9f, .3f, .1f, .8f, .2f, .4f, 1.f};
  const std::vector<std::string> y = {"red", "red", "red", "green", "green", "green", "blue", "blue", "blue"};
  const auto model =
      selfnorm::Classifier::train({x, 3}, y, {{"objective", "penalty"}, {"alpha", 1}, {"l2", 0.01}});
  model.save("colours.safetensors");
  const float one[] = {.85f, .2f, .2f};
  const double raw = model.raw_log_probabilities({one, 3})[2], exact = model.log_probabilities({one, 3})[2];
  std::printf("log p(%s | x): raw %.4f, exact %.4f\n", model.predict({one, 3})[0].c_str(), raw, exact);
}
