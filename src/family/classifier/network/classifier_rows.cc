#include "family/classifier/network/classifier_rows.h"

#include "base/failure.h"
#include "data/dataset_cache.h"
#include "data/example_source.h"
#include "data/string_index.h"
#include "model/text_model.h"

namespace selfnorm {

void check_encoder(const EncoderOptions& encoder, const Dataset& rows) {
  const bool is_sparse = rows.features.is_sparse;
  if (encoder.kind != "auto" && (encoder.kind == "identity") == is_sparse)
    throw_error("`encoder {}`: expected {} rows, found {} ones", encoder.kind, is_sparse ? "dense" : "sparse",
                is_sparse ? "sparse" : "dense");
  if (encoder.is_network()) {
    if (rows.is_joint()) throw_error("`encoder bag`: expected classes, found groups of alternatives (qid:)");
    return;
  }
  if (!encoder.embeddings.empty()) throw_error("`embeddings` needs `encoder bag`");
  if (encoder.hidden > 0)
    throw_error("`hidden` belongs to `encoder bag`, found `encoder {}`; leave it out or change that",
                encoder.kind);
}

std::vector<uint64_t> hold_out_rows(ClassifierRows& rows, double part, const TrainOptions& options) {
  if (!rows.train.stored_in.empty() && rows.train.weight.empty()) {
    CachedSplit split = cached_split(rows.train, part, options.seed, kHoldOutStream);
    rows.train = std::move(split.kept);
    rows.valid = std::move(split.held_out);
    return std::move(split.places);
  }
  const auto [kept, held_out] = random_split(rows.train.examples(), part, options.seed, kHoldOutStream);
  rows.valid = subset(rows.train, held_out);
  rows.train = subset(rows.train, kept);
  if (options.encoder.is_network() && rows.text && !rows.text->vocabulary().empty()) {
    const std::vector<uint32_t> used = used_columns(rows.train.features.sparse);
    keep_columns(used, rows.train);
    keep_columns(used, *rows.valid);
    rows.text = with_words(*rows.text, used);
  }
  return held_out;
}

EncoderPlan bag_plan(const ClassifierRows& rows) {
  EncoderPlan plan;
  plan.inputs = rows.train.features.columns();
  plan.classes = rows.train.classes();
  plan.examples = rows.train.examples();
  return plan;
}

std::string take_embeddings(const ClassifierRows& rows, const EncoderOptions& encoder, EncoderPlan& plan) {
  if (encoder.embeddings.empty()) return {};
  if (!rows.text || rows.text->vocabulary().empty())
    throw_error("`embeddings` are found by word; expected texts with a vocabulary (no `hash-buckets`)");
  return take_embeddings(encoder, StringIndex(rows.text->vocabulary()), plan);
}

TrainResult train_rows(ClassifierRows rows, EncoderPlan plan, const TrainOptions& options,
                       const CheckpointOptions& checkpoint, TrainObserver& observer,
                       std::optional<Dataset> unlabelled) {
  TrainResult out;
  if (options.encoder.is_network()) {
    apply_class_weight(options.class_weight, rows.train, rows.valid ? &*rows.valid : nullptr);
    std::optional<BagFeed> valid;
    if (rows.valid) valid.emplace(*rows.valid);
    out = train_network(BagFeed(rows.train), valid ? &*valid : nullptr, std::move(plan), options, checkpoint,
                        observer);
    out.model.input = ModelInput::Sparse;
    out.model.labels = rows.train.labels;
    out.model.feature_names = rows.train.feature_names;
  } else {
    out = train_classifier(std::move(rows.train), std::move(rows.valid), options, checkpoint, observer,
                           std::move(unlabelled));
  }
  if (rows.text) store_text(*rows.text, out.model);
  return out;
}

}  // namespace selfnorm
