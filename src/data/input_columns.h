// How a column of a frame becomes inputs: learned from its training rows.
#pragma once

#include <span>

#include "selfnorm/data/frame_encoder.h"

namespace selfnorm {

// What the column is encoded by; `reason`: why it is left out, or what else is to be said; empty: nothing.
struct LearnedColumn {
  InputColumn column;
  bool is_used = false;
  std::string reason{};
};

LearnedColumn learn_column(const FrameColumn& from, std::span<const uint64_t> rows, bool standardise);

}  // namespace selfnorm
