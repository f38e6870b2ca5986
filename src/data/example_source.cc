#include "selfnorm/data/example_source.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

class DatasetSource : public ExampleSource {
 public:
  explicit DatasetSource(Dataset data) : data_(std::move(data)) {
    data_.labels.clear();
    data_.feature_names.clear();
    data_.target.resize(data_.examples(), Dataset::kNoTarget);
    has_targets_ =
        std::find(data_.target.begin(), data_.target.end(), Dataset::kNoTarget) == data_.target.end();
  }

  uint64_t examples() const override { return data_.examples(); }
  uint32_t columns() const override { return data_.features.columns(); }
  bool has_targets() const override { return has_targets_; }
  bool is_joint() const override { return data_.is_joint(); }
  uint64_t number(uint64_t example) const override { return data_.numbers[example]; }

  Dataset block(uint64_t begin, uint64_t end) const override {
    SELFNORM_CHECK(begin <= end && end <= examples());
    std::vector<uint64_t> list(end - begin);
    std::iota(list.begin(), list.end(), begin);
    return subset(data_, list);
  }

  Dataset gather(std::span<const uint64_t> examples) const override { return subset(data_, examples); }

 private:
  Dataset data_;
  bool has_targets_ = false;
};

}  // namespace

std::unique_ptr<ExampleSource> make_example_source(Dataset data) {
  return std::make_unique<DatasetSource>(std::move(data));
}

}  // namespace selfnorm
