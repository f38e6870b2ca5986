// What the opaque selfnorm_model of selfnorm.h is, and how the C interface reports failures.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "selfnorm.h"
#include "selfnorm/runtime/crf_scorer.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/scorer.h"
#include "selfnorm/runtime/state_encoder.h"

#define SELFNORM_TRY(call) \
  if (const selfnorm_status status = (call); status != SELFNORM_OK) return status

struct selfnorm_model {
  selfnorm::runtime::MappedFile mapped;
  std::span<const std::byte> bytes;  // of the file, mapped or the caller's
  std::string name;
  selfnorm::runtime::Safetensors file;
  selfnorm::runtime::ModelLayout layout;  // of a CRF: its classes and their labels, all else empty
  selfnorm::runtime::Scorer scorer;
  selfnorm::runtime::StateEncoder encoder;
  selfnorm::runtime::CrfLayout crf;
  selfnorm::runtime::CrfScorer crf_scorer;
  mutable std::once_flag indexes_words{};        // by the first text
  mutable std::vector<uint32_t> word_slots{};    // of the vocabulary
  mutable std::atomic<bool> is_scanned = false;  // by the first call that reads every weight

  mutable std::atomic<uint64_t> watch_every = 0, calls = 0, checked = 0, exceeded = 0;  // selfnorm_watch

  bool has_normalizer() const { return crf.exists() ? crf.normalizer.exists : layout.normalizer.exists(); }
  void expect_scan() const {
    if (!is_scanned.load(std::memory_order_relaxed) && !is_scanned.exchange(true)) mapped.expect_scan();
  }
};

namespace selfnorm::runtime {

// Sets the calling thread's message; returns `status`.
__attribute__((format(printf, 2, 3))) selfnorm_status fail(selfnorm_status status, const char* format, ...);
selfnorm_status fail_null();
// The message is: what "text". Without a format: half of the attributes of a text may be unknown to a CRF.
selfnorm_status fail_quoted(selfnorm_status status, std::string_view what, std::string_view text);

// What open() returns, or throws, as a status.
template <class Open>
selfnorm_status guarded(Open open) {
  try {
    return open();
  } catch (const IoError& error) {
    return fail(SELFNORM_ERROR_IO, "%s", error.what());
  } catch (const FormatError& error) {
    return fail(SELFNORM_ERROR_FORMAT, "%s", error.what());
  } catch (const std::exception&) {  // bad_alloc or length_error
    return fail(SELFNORM_ERROR_MEMORY, "out of memory while opening the model");
  }
}

// The first class with the label, or kEmptySlot.
uint32_t class_of(const ModelLayout& layout, std::string_view label);

struct ClassList {
  const uint32_t* classes;
  size_t n;
};

selfnorm_status check_amortised(const selfnorm_model* model);  // that it has b
selfnorm_status check_kind(const selfnorm_model* model, int kind);
// What a checked kind stands for in a model: SELFNORM_RAW, _EXACT or _AMORTISED, or a rung.
struct ResolvedKind {
  int kind = SELFNORM_EXACT;
  const RungLayout* rung = nullptr;
  // By a rung, but not exact. A(x) is at least every score, so an estimate that says less is put right: its
  // error only falls.
  bool is_estimate = false;

  double served(double log_prob) const { return is_estimate && log_prob > 0 ? 0 : log_prob; }
};
ResolvedKind resolved(const selfnorm_model* model, int kind);
// a(x) of the rung; where that has no number, A(x). One call in `watch_every` computes both.
bool log_normalizer(const selfnorm_model* model, const Query& x, const RungLayout& rung, double* out);
selfnorm_status check_class(const selfnorm_model* model, uint32_t k);
// Of a model of classes, for any form of x; with an encoder, x is the state. Arguments are checked.
selfnorm_status score(const selfnorm_model* model, const Query& x, ClassList list, int kind, double* out);

}  // namespace selfnorm::runtime
