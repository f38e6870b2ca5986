#include "data/example_source.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "math/random.h"

namespace selfnorm {
namespace {

class DatasetSource : public ExampleSource {
 public:
  explicit DatasetSource(Dataset data) : data_(std::move(data)) {
    data_.labels.clear();
    data_.feature_names.clear();
    if (data_.target.size() < data_.examples()) data_.target.resize(data_.examples(), Dataset::kNoTarget);
    has_targets_ =
        std::find(data_.target.begin(), data_.target.end(), Dataset::kNoTarget) == data_.target.end();
  }

  uint64_t examples() const override { return data_.examples(); }
  uint32_t columns() const override { return data_.features.columns(); }
  bool has_targets() const override { return has_targets_; }
  bool is_joint() const override { return data_.is_joint(); }
  uint64_t number(uint64_t example) const override { return data_.numbers[example]; }

  Dataset gather(std::span<const uint64_t> examples) const override { return subset(data_, examples); }

 private:
  Dataset data_;
  bool has_targets_ = false;
};

}  // namespace

Dataset ExampleSource::block(uint64_t begin, uint64_t end) const {
  SELFNORM_CHECK(begin <= end && end <= examples());
  std::vector<uint64_t> list(end - begin);
  std::iota(list.begin(), list.end(), begin);
  return gather(list);
}

std::unique_ptr<ExampleSource> make_example_source(Dataset data) {
  return std::make_unique<DatasetSource>(std::move(data));
}

ExampleSubset::ExampleSubset(const ExampleSource& whole, std::vector<uint64_t> examples)
    : whole_(whole), examples_(std::move(examples)) {
  for (const uint64_t i : examples_) SELFNORM_CHECK(i < whole_.examples());
}

Dataset ExampleSubset::block(uint64_t begin, uint64_t end) const {
  SELFNORM_CHECK(begin <= end && end <= examples_.size());
  return whole_.gather(std::span(examples_).subspan(begin, end - begin));
}

Dataset ExampleSubset::gather(std::span<const uint64_t> examples) const {
  std::vector<uint64_t> places;
  for (const uint64_t i : examples) places.push_back(examples_.at(i));
  return whole_.gather(places);
}

std::vector<uint64_t> random_held_out(uint64_t examples, double fraction, uint64_t seed, uint64_t stream) {
  if (examples < 2)
    throw_error("cannot hold out validation data from {} example(s); give two at least", examples);
  require_range(fraction > 0 && fraction < 1, "hold-out", fraction, "0 < x < 1");
  std::vector<uint64_t> out;
  for (uint64_t first = 0; first < examples; first += kSplitAtOnce) {
    const uint64_t n = std::min(kSplitAtOnce, examples - first);
    std::vector<uint64_t> order = random_permutation(n, RandomStream(seed, stream + first));
    const auto wanted = static_cast<uint64_t>(std::llround(fraction * static_cast<double>(n)));
    order.resize(std::clamp<uint64_t>(wanted, first == 0 ? 1 : 0, n / 2));
    std::sort(order.begin(), order.end());
    for (const uint64_t i : order) out.push_back(first + i);
  }
  return out;
}

std::pair<std::vector<uint64_t>, std::vector<uint64_t>> random_split(uint64_t examples, double fraction,
                                                                     uint64_t seed, uint64_t stream) {
  std::vector<uint64_t> held_out = random_held_out(examples, fraction, seed, stream), kept;
  kept.reserve(examples - held_out.size());
  auto next = held_out.begin();
  for (uint64_t i = 0; i < examples; ++i)
    if (next != held_out.end() && *next == i)
      ++next;
    else
      kept.push_back(i);
  return {std::move(kept), std::move(held_out)};
}

double default_hold_out(uint64_t examples, bool keeps_all) {
  constexpr uint64_t kFewestToSplit = 20;
  return keeps_all || examples < kFewestToSplit ? 0 : 0.1;
}

}  // namespace selfnorm
