// Words, n-grams and their weights; the definitions are in text_encoder.h.
#pragma once

#include <string_view>

#include "data/text/text_encoder.h"
#include "selfnorm/runtime/text_grams.h"

namespace selfnorm {

using runtime::for_each_gram;
using runtime::weigh;

inline uint32_t hash_bucket(std::string_view gram, const TextOptions& options) {
  return static_cast<uint32_t>(hash_bytes(gram) % options.hash_buckets);
}

// Sorted distinct columns with their counts; sorts its argument.
SparseRow count_columns(std::vector<uint32_t>& columns);

}  // namespace selfnorm
