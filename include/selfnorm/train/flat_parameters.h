// The parameters of several networks as one vector: what an optimiser steps, averages and keeps.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "selfnorm/base/error.h"

namespace selfnorm {

class FlatParameters {
 public:
  explicit FlatParameters(std::vector<std::span<float>> blocks) : blocks_(std::move(blocks)) {
    for (const std::span<float> block : blocks_) {
      offset_.push_back(size_);
      size_ += block.size();
    }
  }

  size_t size() const { return size_; }
  size_t blocks() const { return blocks_.size(); }
  // The part of a vector of size() that belongs to block i.
  template <class T>
  std::span<T> part(std::span<T> flat, size_t i) const {
    return flat.subspan(offset_[i], blocks_[i].size());
  }
  size_t offset(size_t i) const { return offset_[i]; }

  std::vector<float> gather() const {
    std::vector<float> flat(size_);
    for (size_t i = 0; i < blocks_.size(); ++i)
      std::copy(blocks_[i].begin(), blocks_[i].end(), flat.begin() + static_cast<ptrdiff_t>(offset_[i]));
    return flat;
  }
  void scatter(std::span<const float> flat) const {
    SELFNORM_CHECK(flat.size() == size_);
    for (size_t i = 0; i < blocks_.size(); ++i)
      std::copy_n(flat.begin() + static_cast<ptrdiff_t>(offset_[i]), blocks_[i].size(), blocks_[i].begin());
  }

 private:
  std::vector<std::span<float>> blocks_;
  std::vector<size_t> offset_;
  size_t size_ = 0;
};

}  // namespace selfnorm
