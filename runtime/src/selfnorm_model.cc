// The part of selfnorm.h that opens models and describes them.
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <string>

#include "open_model.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/file_error.h"

namespace {
thread_local char last_message[512] = "";
}  // namespace

namespace selfnorm::runtime {

selfnorm_status fail(selfnorm_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(last_message, sizeof last_message, format, arguments);
  va_end(arguments);
  return status;
}

selfnorm_status fail_quoted(selfnorm_status status, std::string_view what, std::string_view text) {
  char* next = last_message;
  for (const std::string_view part :
       {what.substr(0, 200), std::string_view(" \""), text.substr(0, 200), std::string_view("\"\0", 2)})
    next += part.copy(next, part.size());
  return status;
}

selfnorm_status fail_null() { return fail(SELFNORM_ERROR_ARGUMENT, "a required pointer is null"); }

namespace {

selfnorm_status open_bytes(MappedFile mapped, std::span<const std::byte> bytes, const std::string& name,
                           selfnorm_model** out) {
  Safetensors file = parse_safetensors(bytes, name);
  ModelLayout layout;
  CrfLayout crf;
  if (is_crf(file)) {
    crf = read_crf_layout(file, name);
    layout.classes = crf.labels;
    layout.labels = crf.label_names;
  } else {
    layout = read_layout(file, name);
  }
  *out = new selfnorm_model{std::move(mapped),
                            bytes,
                            name,
                            std::move(file),
                            layout,
                            Scorer(layout),
                            StateEncoder(layout.encoder),
                            crf,
                            CrfScorer(crf)};
  return SELFNORM_OK;
}

const char* string_at(const StringTable& strings, uint32_t i, size_t* length) {
  std::string_view text;
  const bool found = strings.get(i, text);
  if (length != nullptr) *length = text.size();
  return found ? text.data() : nullptr;
}

// The class whose number the text is, in the one way that a label writes it.
uint32_t class_of_number(uint32_t classes, std::string_view text) {
  uint32_t k = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), k);
  const bool whole = error == std::errc() && last == text.data() + text.size();
  return whole && k < classes && (text == "0" || text[0] != '0') ? k : kEmptySlot;
}

}  // namespace

uint32_t class_of(const ModelLayout& layout, std::string_view label) {
  if (layout.has_numbered_labels) return class_of_number(layout.classes, label);
  return find_string(layout.labels, layout.label_index, label);
}

}  // namespace selfnorm::runtime

using namespace selfnorm::runtime;

extern "C" {

const char* selfnorm_error_message(void) { return last_message; }

selfnorm_status selfnorm_open(const char* path, selfnorm_model** model) {
  if (path == nullptr || model == nullptr) return fail_null();
  return guarded([&] {
    std::string name = path;
    std::error_code none;
    if (std::filesystem::is_directory(name, none)) {  // of a run
      name += "/model.safetensors";
      const std::string index = name.substr(0, name.rfind('.')) + std::string(kShardIndexEnding);
      if (!std::filesystem::exists(name, none) && std::filesystem::exists(index, none)) name = index;
    }
    MappedFile mapped{name};
    const auto bytes = mapped.bytes();
    return open_bytes(std::move(mapped), bytes, name.c_str(), model);
  });
}

selfnorm_status selfnorm_open_memory(const void* data, size_t size, selfnorm_model** model) {
  if (data == nullptr || model == nullptr) return fail_null();
  return guarded([&] {
    return open_bytes({}, {static_cast<const std::byte*>(data), size}, "model in memory", model);
  });
}

selfnorm_status selfnorm_verify(const selfnorm_model* model) {
  if (model == nullptr) return fail_null();
  model->expect_scan();
  switch (verify_checksum(model->bytes, model->mapped.gives_back())) {
    case ChecksumState::Absent:
      return fail(SELFNORM_ERROR_NO_CHECKSUM,
                  "%s: found no checksum; files of the first release and of other programs have none",
                  model->name.c_str());
    case ChecksumState::Differs:
      return fail(SELFNORM_ERROR_CHECKSUM, "%s: %s", model->name.c_str(), kChecksumDiffers);
    case ChecksumState::Matches:
      break;
  }
  return SELFNORM_OK;
}

void selfnorm_close(selfnorm_model* model) { delete model; }

selfnorm_family selfnorm_model_family(const selfnorm_model* model) {
  return model->crf.exists() ? SELFNORM_CHAIN : static_cast<selfnorm_family>(model->layout.family);
}
selfnorm_weights selfnorm_model_weights(const selfnorm_model* model) {
  return static_cast<selfnorm_weights>(model->layout.weights);
}
uint32_t selfnorm_classes(const selfnorm_model* model) { return model->layout.classes; }
uint32_t selfnorm_features(const selfnorm_model* model) { return model->layout.features; }
uint32_t selfnorm_inputs(const selfnorm_model* model) { return model->layout.inputs(); }
double selfnorm_log_normalizer_constant(const selfnorm_model* model) { return model->layout.log_normalizer; }
int selfnorm_has_amortised_normalizer(const selfnorm_model* model) { return model->has_normalizer() ? 1 : 0; }
size_t selfnorm_amortised_normalizer_units(const selfnorm_model* model) {
  return model->layout.normalizer.output.size();
}

const char* selfnorm_label(const selfnorm_model* model, uint32_t class_index, size_t* length) {
  return string_at(model->layout.labels, class_index, length);
}
const char* selfnorm_feature_name(const selfnorm_model* model, uint32_t feature, size_t* length) {
  return string_at(model->layout.feature_names, feature, length);
}
const char* selfnorm_word(const selfnorm_model* model, uint32_t feature, size_t* length) {
  return string_at(model->layout.vocabulary, feature, length);
}

const char* selfnorm_metadata(const selfnorm_model* model, const char* key, size_t* length) {
  const auto place =
      key == nullptr ? model->file.metadata.end() : model->file.metadata.find(std::string_view(key));
  const bool found = place != model->file.metadata.end();
  if (length != nullptr) *length = found ? place->second.size() : 0;
  return found ? place->second.data() : nullptr;
}

selfnorm_status selfnorm_class_of_label(const selfnorm_model* model, const char* label, size_t length,
                                        uint32_t* class_index) {
  if (model == nullptr || (label == nullptr && length > 0) || class_index == nullptr) return fail_null();
  const std::string_view wanted(label == nullptr ? "" : label, length);
  const uint32_t k = class_of(model->layout, wanted);
  if (k != kEmptySlot) {
    *class_index = k;
    return SELFNORM_OK;
  }
  return fail_quoted(SELFNORM_ERROR_CLASS, "no class is labelled", wanted);
}

}  // extern "C"
