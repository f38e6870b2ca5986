// Files of small random CRFs and their sentences, for the C interface.
#pragma once

#include "model/crf/crf_model.h"
#include "runtime/random_model.h"
#include "small_crfs.h"

namespace selfnorm::test {

inline std::string saved_bytes(const CrfModel& model) {
  const ScratchDirectory scratch;
  save_crf(model, scratch.file("model"));
  return contents(scratch.file("model"));
}

inline selfnorm_attribute_rows rows_of(const AttributeRows& rows, uint64_t first) {
  return {rows.begin.data() + first, rows.attribute.data(), rows.value.empty() ? nullptr : rows.value.data()};
}

// Points into the data.
inline selfnorm_sentence sentence_of(const Sequences& data, uint64_t sentence) {
  const uint64_t first = data.sentence_begin[sentence];
  selfnorm_sentence out = {data.length(sentence), rows_of(data.unigram, first), {}};
  if (data.bigram.rows() > 0) out.bigram = rows_of(data.bigram, first);
  return out;
}

// Memory of exactly the bytes that the runtime asks for, at an odd address.
class CrfMemory {
 public:
  CrfMemory(const selfnorm_model* model, size_t positions)
      : bytes_(selfnorm_chain_workspace(model, positions)), memory_(bytes_ + 1) {}
  void* data() { return memory_.data() + 1; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  std::vector<char> memory_;
};

}  // namespace selfnorm::test
