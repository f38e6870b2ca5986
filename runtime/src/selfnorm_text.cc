// The part of selfnorm.h that scores texts: the encoder of the model, as it was in training.
#include <algorithm>
#include <bit>
#include <mutex>
#include <new>

#include "open_model.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/json_cursor.h"
#include "selfnorm/runtime/text_grams.h"

namespace selfnorm::runtime {
namespace {

struct StoredTextOptions {
  uint64_t ngrams = 1, char_ngrams_min = 0, char_ngrams_max = 0, hash_buckets = 0;
  bool tf_idf = false, lowercase = false;
};

bool boolean(JsonCursor& json) {
  const bool is_true = json.accept('t');
  for (const char c : std::string_view(is_true ? "rue" : "false")) json.expect(c);
  return is_true;
}

// {"ngrams": 2, ..., "lowercase": true} (model/text_model.h)
StoredTextOptions text_options(const std::string& text, const std::string& file) {
  StoredTextOptions out;
  JsonCursor json(text, file);
  json.expect('{');
  do {
    const std::string key = json.string();
    json.expect(':');
    if (key == "tf_idf" || key == "lowercase") {
      (key == "tf_idf" ? out.tf_idf : out.lowercase) = boolean(json);
      continue;
    }
    const uint64_t value = json.integer();
    if (key == "ngrams") out.ngrams = value;
    if (key == "char_ngrams_min") out.char_ngrams_min = value;
    if (key == "char_ngrams_max") out.char_ngrams_max = value;
    if (key == "hash_buckets") out.hash_buckets = value;
  } while (json.accept(','));
  json.expect('}');
  return out;
}

// The slots of an index of the vocabulary.
std::vector<uint32_t> vocabulary_slots(const StringTable& words) {
  std::vector<uint32_t> slots(std::bit_ceil(2 * words.size() + 1), kEmptySlot);
  for (uint32_t k = 0; k < words.size(); ++k) {
    std::string_view word;
    if (!words.get(k, word)) continue;
    uint64_t i = hash_string(word) & (slots.size() - 1);
    while (slots[i] != kEmptySlot) i = (i + 1) & (slots.size() - 1);
    slots[i] = k;
  }
  return slots;
}

struct EncodedText {
  std::vector<uint32_t> column;
  std::vector<float> value;
};

EncodedText encode(const selfnorm_model* model, std::string_view text) {
  const ModelLayout& layout = model->layout;
  const StoredTextOptions options =
      text_options(model->file.metadata.find("text")->second, model->name + ": text options");
  const bool is_hashed = options.hash_buckets > 0;
  if (!is_hashed)
    std::call_once(model->indexes_words, [&] { model->word_slots = vocabulary_slots(layout.vocabulary); });
  const LabelIndex index{model->word_slots};
  std::vector<uint32_t> columns;
  for_each_gram(text, options, [&](std::string_view gram) {
    const uint32_t column = is_hashed ? static_cast<uint32_t>(hash_string(gram) % options.hash_buckets)
                                      : index.find(layout.vocabulary, gram);
    if (column != kEmptySlot && column < layout.inputs()) columns.push_back(column);
  });
  EncodedText out;
  count_columns(columns, out.column, out.value);
  if (options.tf_idf && layout.idf.size() == layout.inputs()) weigh(out.column, out.value, layout.idf);
  return out;
}

// use(encoded) of a text for a model of texts.
template <class Use>
selfnorm_status with_text(const selfnorm_model* model, const char* text, size_t length, Use use) {
  if (model == nullptr || (text == nullptr && length > 0)) return fail_null();
  if (model->crf.exists() || model->layout.input != Input::Text)
    return fail(SELFNORM_ERROR_FAMILY, "the model was not trained on texts and has no text encoder");
  try {
    return use(encode(model, {text, length}));
  } catch (const FormatError& error) {
    return fail(SELFNORM_ERROR_FORMAT, "%s", error.what());
  } catch (const std::bad_alloc&) {
    return fail(SELFNORM_ERROR_MEMORY, "out of memory");
  }
}

}  // namespace
}  // namespace selfnorm::runtime

using namespace selfnorm::runtime;

selfnorm_status selfnorm_encode_text(const selfnorm_model* model, const char* text, size_t length,
                                     size_t capacity, uint32_t* index, float* value, size_t* nnz) {
  return with_text(model, text, length, [&](const EncodedText& x) {
    if (nnz == nullptr || (capacity > 0 && (index == nullptr || value == nullptr))) return fail_null();
    *nnz = x.column.size();
    const size_t n = std::min(capacity, x.column.size());
    std::copy_n(x.column.begin(), n, index);
    std::copy_n(x.value.begin(), n, value);
    if (n == *nnz) return SELFNORM_OK;
    return fail(SELFNORM_ERROR_ARGUMENT, "the text has %zu features, and there is room for %zu", *nnz,
                capacity);
  });
}

selfnorm_status selfnorm_score_text(const selfnorm_model* model, const char* text, size_t length,
                                    const uint32_t* classes, size_t n, int kind, double* out) {
  return with_text(model, text, length, [&](const EncodedText& x) {
    return selfnorm_score_sparse(model, x.column.data(), x.value.data(), x.column.size(), classes, n, kind,
                                 out);
  });
}

selfnorm_status selfnorm_top_text(const selfnorm_model* model, const char* text, size_t length, size_t n,
                                  int kind, uint32_t* classes, double* log_probs) {
  return with_text(model, text, length, [&](const EncodedText& x) {
    return selfnorm_top_sparse(model, x.column.data(), x.value.data(), x.column.size(), n, kind, classes,
                               log_probs);
  });
}
