// What a classifier is made of.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "base/failure.h"
#include "data/string_index.h"
#include "family/classifier/training_in_parts.h"
#include "model/class_scores.h"
#include "model/text_model.h"
#include "normalizer/output_stream.h"
#include "selfnorm.h"
#include "selfnorm/classifier.h"

namespace selfnorm {

struct Classifier::Content {
  ModelFile model;
  std::optional<TextEncoder> text;
  std::shared_ptr<const OngoingTraining> ongoing = {};  // of a model that was trained in parts

  explicit Content(ModelFile from) : model(std::move(from)) {
    if (model.input == ModelInput::Text) text = restored_text(model, "the model");
  }

  bool is_bag() const { return model.encoder.exists(); }
  InputShape shape() const {
    return {.columns = model.inputs(), .text = text ? &*text : nullptr, .is_sparse = is_bag()};
  }
  // As the output layer sees them.
  std::unique_ptr<ExampleSource> states(const Inputs& x, std::vector<uint32_t> targets = {}) const {
    auto out = make_input_source(x, shape(), std::move(targets));
    return is_bag() ? bag_states(model.encoder, std::move(out)) : std::move(out);
  }
  // Labels that the model does not have are unseen.
  std::vector<uint32_t> targets(const Inputs& x, const Labels& labels) const {
    if (labels.index.size() != x.rows())
      throw_error("found {} labels for {} rows; expected one a row", labels.index.size(), x.rows());
    const StringIndex known(names());
    std::vector<uint32_t> out;
    for (const uint32_t index : labels.index)
      out.push_back(index < labels.names.size()
                        ? known.find(labels.names[index]).value_or(Dataset::kUnseenTarget)
                        : Dataset::kUnseenTarget);
    return out;
  }
  const std::vector<std::string>& names() const {
    std::call_once(names_once_, [&] { names_ = model.labels.all(); });
    return names_;
  }
  const ClassScores& scores(bool is_sparse) const {
    std::call_once(is_sparse ? sparse_once_ : dense_once_,
                   [&] { (is_sparse ? sparse_ : dense_) = make_class_scores(model, is_sparse); });
    return *(is_sparse ? sparse_ : dense_);
  }
  const selfnorm_model* runtime() const {
    std::call_once(runtime_once_, [&] {
      bytes_ = model_bytes(model, "a classifier");
      selfnorm_model* opened = nullptr;
      check(selfnorm_open_memory(bytes_.data(), bytes_.size(), &opened));
      runtime_.reset(opened);
    });
    return runtime_.get();
  }
  static void check(selfnorm_status status) {
    if (status != SELFNORM_OK) throw Error(selfnorm_error_message());
  }

 private:
  mutable std::once_flag sparse_once_, dense_once_, runtime_once_, names_once_;
  mutable std::unique_ptr<ClassScores> sparse_, dense_;
  mutable std::vector<std::string> names_;
  mutable std::string bytes_;  // of the same as a file
  mutable std::unique_ptr<selfnorm_model, void (*)(selfnorm_model*)> runtime_{nullptr, selfnorm_close};
};

}  // namespace selfnorm
