#include "model/encoded_states.h"

#include <numeric>
#include <utility>
#include <vector>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

class CorpusStates final : public ExampleSource {
 public:
  CorpusStates(const Encoder& encoder, TokenCorpus corpus) : encoder_(encoder), corpus_(std::move(corpus)) {}

  uint64_t examples() const override { return corpus_.examples(); }
  uint32_t columns() const override { return encoder_.states(); }
  bool has_targets() const override { return true; }

  Dataset block(uint64_t begin, uint64_t end) const override {
    SELFNORM_CHECK(begin <= end && end <= examples());
    std::vector<uint64_t> list(end - begin);
    std::iota(list.begin(), list.end(), begin);
    return gather(list);
  }
  Dataset gather(std::span<const uint64_t> examples) const override {
    TokenRows rows;
    gather_contexts(corpus_, examples, encoder_.positions, rows);
    Dataset out;
    out.features = encode(encoder_, rows);
    for (const uint64_t i : examples) out.target.push_back(corpus_.target(i));
    return out;
  }

 private:
  const Encoder& encoder_;
  TokenCorpus corpus_;
};

class BagStates final : public ExampleSource {
 public:
  BagStates(const Encoder& encoder, std::unique_ptr<ExampleSource> inputs)
      : encoder_(encoder), inputs_(std::move(inputs)) {}

  uint64_t examples() const override { return inputs_->examples(); }
  uint32_t columns() const override { return encoder_.states(); }
  bool has_targets() const override { return inputs_->has_targets(); }
  uint64_t number(uint64_t example) const override { return inputs_->number(example); }

  Dataset block(uint64_t begin, uint64_t end) const override { return encoded(inputs_->block(begin, end)); }
  Dataset gather(std::span<const uint64_t> examples) const override {
    return encoded(inputs_->gather(examples));
  }

 private:
  Dataset encoded(Dataset data) const {
    data.features = encode(encoder_, data.features);
    return data;
  }

  const Encoder& encoder_;
  std::unique_ptr<ExampleSource> inputs_;
};

}  // namespace

void gather_contexts(const TokenCorpus& corpus, std::span<const uint64_t> examples, uint32_t positions,
                     TokenRows& out) {
  out.clear();
  out.id.resize(examples.size() * positions);
  for (size_t i = 0; i < examples.size(); ++i) {
    corpus.context(examples[i], std::span(out.id).subspan(i * positions, positions));
    out.begin.push_back((i + 1) * positions);
  }
}

std::unique_ptr<ExampleSource> corpus_states(const Encoder& encoder, TokenCorpus corpus) {
  SELFNORM_CHECK(encoder.kind == EncoderKind::Context && encoder.inputs == corpus.vocabulary() + 1);
  return std::make_unique<CorpusStates>(encoder, std::move(corpus));
}

std::unique_ptr<ExampleSource> bag_states(const Encoder& encoder, std::unique_ptr<ExampleSource> inputs) {
  SELFNORM_CHECK(encoder.kind == EncoderKind::Bag);
  if (inputs->is_joint()) throw Error("the data has qid: groups, but the model is a multiclass classifier");
  return std::make_unique<BagStates>(encoder, std::move(inputs));
}

}  // namespace selfnorm
