#include "model/model_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "base/json_text.h"
#include "math/half.h"
#include "model/parameters.h"
#include "model/safetensors_writer.h"
#include "model/stored_record.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm {
namespace {

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

std::vector<float> weights_of(const runtime::ModelLayout& layout) {
  std::vector<float> out = copy(layout.weight_f32);
  out.reserve(layout.rows() * layout.features);
  for (const uint16_t bits : layout.weight_bf16) out.push_back(from_bfloat16(bits));
  for (size_t i = 0; i < layout.weight_i8.size(); ++i)
    out.push_back(layout.weight_scale[i / layout.features] * static_cast<float>(layout.weight_i8[i]));
  return out;
}

Encoder encoder_of(const runtime::EncoderLayout& layout) {
  if (!layout.exists()) return {};
  return {.kind = layout.kind,
          .inputs = layout.inputs,
          .width = layout.width,
          .positions = layout.positions,
          .embedding = copy(layout.embedding),
          .hidden_weight = copy(layout.hidden_weight),
          .hidden_bias = copy(layout.hidden_bias)};
}

// All but the weights.
ModelFile model_of(const runtime::Safetensors& file, const runtime::ModelLayout& layout,
                   const std::string& name) {
  ModelFile out;
  out.family = layout.family;
  out.input = layout.input;
  out.weights = layout.weights;
  out.classes = layout.classes;
  out.features = layout.features;
  out.log_normalizer = layout.log_normalizer;
  out.bias = copy(layout.bias);
  out.log_carrier = copy(layout.log_carrier);
  out.idf = copy(layout.idf);
  out.labels = labels_of(layout);
  out.feature_names = strings_of(layout.feature_names);
  out.vocabulary = strings_of(layout.vocabulary);
  out.normalizer = normalizer_of(layout.normalizer);
  out.ladder = ladder_of(layout.ladder);
  out.encoder = encoder_of(layout.encoder);
  out.tree = {layout.tree.link.begin(), layout.tree.link.end()};
  const auto json = [&](const char* key, std::string& value) {
    value = file.metadata.find(key)->second;
    check_metadata_json(name, key, value);
  };
  json("objective", out.objective_json);
  json("training", out.training_json);
  json("audit", out.audit_json);
  if (out.input == ModelInput::Text) json("text", out.text_json);
  const auto text = [&](const char* key, std::string& value) {
    if (const auto found = file.metadata.find(key); found != file.metadata.end()) value = found->second;
  };
  text("target", out.target);
  text("columns", out.columns_json);
  if (!out.columns_json.empty()) check_metadata_json(name, "columns", out.columns_json);
  text("unknown", out.unknown);
  return out;
}

ModelFile read_model(std::span<const std::byte> bytes, const std::string& name) {
  const runtime::Safetensors file = runtime::parse_safetensors(bytes, name);
  const runtime::ModelLayout layout = runtime::read_layout(file, name);
  runtime::check_contents(layout, name);
  ModelFile out = model_of(file, layout, name);
  out.weight = weights_of(layout);
  for (const float w : out.weight) {
    if (!std::isfinite(w)) throw_error("{}: a weight times its scale is {}", name, w);
  }
  runtime::require_checksum(bytes, name);
  return out;
}

using runtime::Dtype;

// With so many rows of weights and biases.
void check_sizes(const ModelFile& model, size_t rows) {
  const bool joint = model.family == Family::Joint;
  const bool hierarchical = model.family == Family::Hierarchical;
  SELFNORM_CHECK(!hierarchical || model.classes > 1);
  const size_t d = model.features;
  const auto is_empty_or = [](size_t size, size_t expected) { return size == 0 || size == expected; };
  SELFNORM_CHECK(rows > 0 && d > 0);
  SELFNORM_CHECK(model.weight.size() == rows * d);
  SELFNORM_CHECK(model.bias.size() == (joint ? 0 : rows));
  SELFNORM_CHECK(is_empty_or(model.log_carrier.size(), joint || hierarchical ? 0 : rows));
  SELFNORM_CHECK(is_empty_or(model.labels.size(), joint ? 0 : model.classes));
  SELFNORM_CHECK(is_empty_or(model.feature_names.size(), model.inputs()));
  SELFNORM_CHECK(is_empty_or(model.vocabulary.size(), model.inputs()));
  SELFNORM_CHECK(is_empty_or(model.idf.size(), model.inputs()));
  const bool text = model.input == ModelInput::Text;
  SELFNORM_CHECK(text == !model.text_json.empty());
  SELFNORM_CHECK(text || (model.vocabulary.empty() && model.idf.empty()));
  const AmortisedNormalizer& b = model.normalizer;
  SELFNORM_CHECK(is_empty_or(b.slope.size(), joint || hierarchical ? 0 : d));
  SELFNORM_CHECK(b.exists() || b == AmortisedNormalizer());
  SELFNORM_CHECK(b.hidden_bias.size() == b.hidden() && b.hidden_weight.size() == b.hidden() * d);
  SELFNORM_CHECK(!model.ladder.exists() || model.family == Family::Multiclass);
}

// model_layout.h says which encoders go with which inputs.
void check_encoder(const ModelFile& model) {
  const Encoder& encoder = model.encoder;
  SELFNORM_CHECK((encoder.kind == EncoderKind::Context) == (model.input == ModelInput::Context));
  SELFNORM_CHECK(model.unknown.empty() || model.input == ModelInput::Context);
  if (!encoder.exists()) return SELFNORM_CHECK(encoder == Encoder());
  SELFNORM_CHECK(model.family != Family::Joint && model.input != ModelInput::Dense);
  SELFNORM_CHECK(encoder.inputs > 0 && model.features == encoder.states());
  SELFNORM_CHECK(encoder.width > 0 && encoder.width <= runtime::kWidestLayer);
  SELFNORM_CHECK(encoder.positions > 0 && encoder.positions <= runtime::kMostPositions);
  SELFNORM_CHECK(encoder.hidden() <= runtime::kWidestLayer);
  SELFNORM_CHECK(encoder.kind == EncoderKind::Context ? encoder.inputs == model.classes + 1
                                                      : encoder.positions == 1);
  SELFNORM_CHECK(encoder.embedding.size() == size_t{encoder.inputs} * encoder.width);
  SELFNORM_CHECK(encoder.hidden_weight.size() == size_t{encoder.hidden()} * encoder.pooled());
}

void check_model_finite(const std::string& path, const char* what, std::span<const float> values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  if (bad == values.end()) return;
  throw_error("{}: cannot save a model whose {} {} is {}", path, what, bad - values.begin(), *bad);
}

void check_model_finite(const std::string& path, const AmortisedNormalizer& b) {
  check_model_finite(path, "normalizer slope", b.slope);
  check_model_finite(path, "normalizer hidden weight", b.hidden_weight);
  check_model_finite(path, "normalizer hidden bias", b.hidden_bias);
  check_model_finite(path, "normalizer output", b.output);
  if (!std::isfinite(b.intercept)) throw Error(path + ": the intercept of the normalizer is not finite");
}

bool has_numbered_labels(const ModelFile& model) {
  return model.labels.size() >= kIndexedLabels && model.labels.are_numbers();
}

Metadata metadata_of(const ModelFile& model) {
  Metadata out = model_metadata(runtime::name(model.family), model);
  out["input"] = runtime::name(model.input);
  out["weights"] = runtime::name(model.weights);
  out["classes"] = std::to_string(model.family == Family::Joint ? 0 : model.classes);
  out["features"] = std::to_string(model.features);
  out["log_normalizer"] = fmt::format("{}", model.log_normalizer);
  if (model.input == ModelInput::Text) out["text"] = model.text_json;
  if (!model.target.empty()) out["target"] = model.target;
  if (!model.columns_json.empty()) out["columns"] = model.columns_json;
  if (has_numbered_labels(model)) out["labels"] = "numbers";
  if (!model.unknown.empty()) out["unknown"] = model.unknown;
  if (model.ladder.exists()) out["ladder"] = ladder_json(model.ladder);
  if (model.encoder.exists()) {
    out["encoder"] = std::string(runtime::name(model.encoder.kind));
    out["inputs"] = std::to_string(model.encoder.inputs);
  }
  if (model.input == ModelInput::Context) out["positions"] = std::to_string(model.encoder.positions);
  return out;
}

void check_values(const ModelFile& model, const std::string& path) {
  check_model_finite(path, "weight", model.weight);
  check_model_finite(path, "bias", model.bias);
  check_model_finite(path, "log carrier", model.log_carrier);
  check_model_finite(path, "idf", model.idf);
  check_model_finite(path, model.normalizer);
  check_model_finite(path, "embedding", model.encoder.embedding);
  check_model_finite(path, "hidden weight", model.encoder.hidden_weight);
  check_model_finite(path, "hidden bias", model.encoder.hidden_bias);
  if (!std::isfinite(model.log_normalizer)) throw Error(path + ": the log-normalizer constant is not finite");
  check_records(model, path);
  with_plain_errors([&] { runtime::check_ladder(layout_of(model.ladder, {}), model.classes, path); });
  if (model.input == ModelInput::Text) check_metadata_json(path, "text", model.text_json);
}

void check_tree(std::span<const uint32_t> tree, const std::string& path) {
  with_plain_errors([&] { runtime::check_tree({tree}, path + ": tree"); });
}

// The slots of selfnorm/runtime/string_table.h; empty when the file has none.
std::vector<uint32_t> label_index(const ModelFile& model) {
  if (model.labels.empty() || has_numbered_labels(model) ||
      (model.input != ModelInput::Context && model.classes < kIndexedLabels))
    return {};
  return index_slots(model.labels.all());
}

size_t rows_of(const ModelFile& model) {
  return model.family == Family::Joint ? 1 : model.classes - (model.family == Family::Hierarchical ? 1u : 0u);
}

// A checked model as the tensors of its file; keeps a reference to the model, which may have the weights and
// biases of a part of its classes.
class StoredModel {
 public:
  StoredModel(const ModelFile& model, const std::string& path) : StoredModel(model, path, rows_of(model)) {}
  StoredModel(const ModelFile& model, const std::string& path, size_t rows)
      : model_(model),
        labels_(has_numbered_labels(model) ? std::vector<std::string>() : model.labels.all()),
        names_(model.feature_names),
        words_(model.vocabulary),
        intercept_{model.normalizer.intercept},
        slots_(label_index(model)) {
    check_sizes(model, rows);
    check_encoder(model);
    SELFNORM_CHECK(model.tree.size() ==
                   (model.family == Family::Hierarchical ? 2 * size_t{model.classes} - 1 : 0));
    check_tree(model.tree, path);
    check_values(model, path);
    if (model.weights == WeightKind::Int8) {
      bytes_ = to_int8(model.weight, model.features);
      for (const float scale : bytes_.scale) scales_.push_back(to_bfloat16(scale));
    }
    if (model.weights != WeightKind::Bfloat16) return;
    halves_.resize(model.weight.size());
    std::transform(model.weight.begin(), model.weight.end(), halves_.begin(), to_bfloat16);
    for (size_t i = 0; i < halves_.size(); ++i) {
      if (std::isfinite(from_bfloat16(halves_[i]))) continue;
      throw_error("{}: weight {} does not fit in bfloat16; save as float32", path, model.weight[i]);
    }
  }

  // They point into this and into the model.
  std::vector<runtime::Tensor> tensors() const {
    std::vector<runtime::Tensor> out;
    const auto add = [&out]<class T>(const std::string& name, Dtype dtype, const std::vector<T>& values,
                                     std::vector<uint64_t> shape = {}) {
      if (values.empty()) return;
      if (shape.empty()) shape = {values.size()};
      out.push_back(make_tensor(name, dtype, std::move(shape), std::span<const T>(values)));
    };
    const uint64_t d = model_.features, rows = model_.weight.size() / d;
    if (model_.weights == WeightKind::Float32) add("weight", Dtype::F32, model_.weight, {rows, d});
    add("weight", Dtype::BF16, halves_, {rows, d});
    add("weight", Dtype::I8, bytes_.values, {rows, d});
    add("weight_scale", Dtype::BF16, scales_);
    add("bias", Dtype::F32, model_.bias);
    add("log_carrier", Dtype::F32, model_.log_carrier);
    add("idf", Dtype::F32, model_.idf);

    const AmortisedNormalizer& b = model_.normalizer;
    add("normalizer.slope", Dtype::F32, b.slope);
    if (b.exists()) add("normalizer.intercept", Dtype::F64, intercept_);
    add("normalizer.hidden_weight", Dtype::F32, b.hidden_weight, {b.hidden(), d});
    add("normalizer.hidden_bias", Dtype::F32, b.hidden_bias);
    add("normalizer.output", Dtype::F32, b.output);

    const Encoder& encoder = model_.encoder;
    add("encoder.embedding", Dtype::F32, encoder.embedding, {encoder.inputs, encoder.width});
    add("encoder.hidden_weight", Dtype::F32, encoder.hidden_weight, {encoder.hidden(), encoder.pooled()});
    add("encoder.hidden_bias", Dtype::F32, encoder.hidden_bias);
    add("tree.parent", Dtype::U32, model_.tree);
    add("labels.index", Dtype::U32, slots_);

    for (runtime::Tensor& tensor : ladder_tensors(model_.ladder, model_.features))
      out.push_back(std::move(tensor));

    labels_.add_to(out, "labels");
    names_.add_to(out, "feature_names");
    words_.add_to(out, "vocabulary");
    return out;
  }

 private:
  const ModelFile& model_;
  StringColumn labels_, names_, words_;
  std::vector<double> intercept_;
  std::vector<uint32_t> slots_;
  std::vector<uint16_t> halves_, scales_;
  Int8Rows bytes_;
};

}  // namespace

ClassNames labels_of(const runtime::ModelLayout& layout) {
  return layout.has_numbered_labels ? ClassNames::numbers(layout.classes)
                                    : ClassNames(strings_of(layout.labels));
}

void check_metadata_json(const std::string& file, const char* key, const std::string& json) {
  if (!is_shallow_json(json)) {
    throw_error("{}: metadata \"{}\" is nested more than {} deep; the file is damaged", file, key,
                kDeepestJson);
  }
  if (!nlohmann::json::accept(json)) {
    throw_error("{}: metadata \"{}\" is not JSON", file, key);
  }
}

ModelFile parse_model(std::span<const std::byte> bytes, const std::string& name) {
  return with_plain_errors([&] { return read_model(bytes, name); });
}

ModelFile load_model(const std::string& path) {
  return with_plain_errors(
      [&] { return read_mapped(path, [&](auto bytes) { return read_model(bytes, path); }); });
}

MappedModel::MappedModel(const std::string& path) {
  with_plain_errors([&] {
    file_ = runtime::MappedFile(path);
    file_.expect_scan();
    runtime::require_checksum(file_.bytes(), path, "; take another copy of it", file_.gives_back());
    content_ = runtime::parse_safetensors(file_.bytes(), path);
    layout_ = runtime::read_layout(content_, path);
    runtime::check_string_tables(layout_, path);
    model_ = model_of(content_, layout_, path);
  });
}

const float* MappedModel::rows(Range classes, std::vector<float>& room) const {
  const size_t d = layout_.features, first = classes.begin * d, size = classes.size() * d;
  if (!layout_.weight_f32.empty()) return layout_.weight_f32.data() + first;
  room.resize(size);
  for (size_t i = 0; i < size; ++i)
    room[i] = !layout_.weight_bf16.empty() ? from_bfloat16(layout_.weight_bf16[first + i])
                                           : layout_.weight_scale[classes.begin + i / d] *
                                                 static_cast<float>(layout_.weight_i8[first + i]);
  return room.data();
}

void MappedModel::release(Range classes) const {
  const size_t d = layout_.features;
  const auto give = [&](const auto& weights) {
    if (!weights.empty())
      file_.release(std::as_bytes(weights.subspan(classes.begin * d, classes.size() * d)));
  };
  give(layout_.weight_f32);
  give(layout_.weight_bf16);
  give(layout_.weight_i8);
}

void save_model(const ModelFile& model, const std::string& path) {
  const StoredModel stored(model, path);
  write_safetensors(path, stored.tensors(), metadata_of(model));
}

namespace {

constexpr std::string_view kSplit[] = {"weight", "weight_scale", "bias"};
bool is_split(const std::string& name) { return std::ranges::find(kSplit, name) != std::end(kSplit); }

// How many processes have classes, and which of them this one is, from 0. Where there are more processes than
// blocks, some have one and some none.
size_t parts_of(const ClassShard& shard) {
  const Communicator* const all = current_communicator();
  return all == nullptr ? 1 : std::min(shard.blocks(), static_cast<size_t>(all->size()));
}
size_t own_part(const ClassShard& shard) {
  const Communicator* const all = current_communicator();
  if (all == nullptr) return 0;
  const auto rank = static_cast<size_t>(all->rank());
  return shard.blocks() < static_cast<size_t>(all->size()) ? shard.own_blocks().begin : rank;
}

}  // namespace

void save_model_part(const ModelFile& own, const ClassShard& shard, const std::string& index) {
  const size_t part = own_part(shard), parts = parts_of(shard);
  const Range classes = shard.own();
  if (classes.size() == 0) return;
  SELFNORM_CHECK(part < parts && own.classes == shard.classes());
  const std::string path = unfinished_shard(index, part + 1, parts);
  const StoredModel stored(own, path, classes.size());
  std::vector<runtime::Tensor> tensors = stored.tensors();
  uint64_t start = 0;  // of the rows before
  for (const runtime::Tensor& tensor : tensors)
    if (tensor.name == "weight") start = tensor.data.size() / classes.size() * classes.begin;
  if (part > 0) std::erase_if(tensors, [](const runtime::Tensor& tensor) { return !is_split(tensor.name); });
  for (runtime::Tensor& tensor : tensors)
    if (is_split(tensor.name)) tensor.name += fmt::format(".{}", part + 1);
  write_safetensors(path, std::move(tensors),
                    {{"format", std::string(runtime::kFormat)},
                     {"format_version", std::string(runtime::kFormatVersion)},
                     {"family", "shard"}},
                    {fmt::format("weight.{}", part + 1), start});
}

void save_model_index(const ModelFile& own, const ClassShard& shard, const std::string& index) {
  const size_t parts = parts_of(shard);
  const StoredModel stored(own, index, shard.own().size());
  std::vector<runtime::Tensor> tensors = stored.tensors();
  nlohmann::ordered_json map;
  uint64_t bytes = 0;
  bool is_first = false;  // the weights, if what follows them stays aligned
  for (runtime::Tensor& tensor : tensors) {
    const bool split = is_split(tensor.name);
    if (split) tensor.shape[0] = shard.classes();
    uint64_t size = runtime::item_size(tensor.dtype);
    for (const uint64_t extent : tensor.shape) size *= extent;
    bytes += size;
    is_first = is_first || (tensor.name == "weight" && size % sizeof(uint64_t) == 0);
    for (size_t part = 1; part <= (split ? parts : 1); ++part)
      map[split ? fmt::format("{}.{}", tensor.name, part) : tensor.name] =
          std::filesystem::path(unfinished_shard(index, part, parts)).filename().string();
  }
  std::string header = safetensors_text(tensors, metadata_of(own), {is_first ? "weight" : "", 0});
  const auto write = [&](const std::string& path) {
    const std::string json = header.substr(sizeof(uint64_t));
    AtomicFile::write_file(
        path, nlohmann::ordered_json{{"metadata", {{"total_size", bytes}, {runtime::kShardHeader, json}}},
                                     {"weight_map", map}}
                      .dump(1) +
                  "\n");
  };
  // The checksum is of all of it, which is seen through an index that has none yet.
  const std::string path = unfinished_index(index);
  write(path);
  with_plain_errors([&] {
    const runtime::MappedFile whole(path);
    whole.expect_scan();
    const std::span<const std::byte> all = whole.bytes();
    put_checksum({{all}}, header, whole.gives_back());
  });
  write(path);
}

std::string model_bytes(const ModelFile& model, const std::string& name) {
  const StoredModel stored(model, name);
  std::vector<runtime::Tensor> tensors = stored.tensors();
  std::string out = safetensors_header(tensors, metadata_of(model));
  for (const runtime::Tensor& tensor : tensors)
    out.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return out;
}

void round_as_stored(ModelFile& model) {
  if (model.weights == WeightKind::Bfloat16)
    for (float& w : model.weight) w = from_bfloat16(to_bfloat16(w));
  if (model.weights == WeightKind::Int8) round_to_int8(model.weight, model.features);
}

}  // namespace selfnorm
