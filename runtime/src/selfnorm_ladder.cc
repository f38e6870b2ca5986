// The part of selfnorm.h about the ladder of log-normalizers.
#include <cmath>

#include "open_model.h"

namespace selfnorm::runtime {
namespace {

constexpr int kFirstRung = SELFNORM_RUNG(0);

int kind_number(RungKind kind) {
  constexpr int kNumbers[] = {SELFNORM_RAW, SELFNORM_LINEAR, SELFNORM_NETWORK, SELFNORM_NEAREST,
                              SELFNORM_EXACT};
  return kNumbers[static_cast<size_t>(kind)];
}

bool is_rung_kind(int kind) { return kind >= SELFNORM_NEAREST && kind <= SELFNORM_NETWORK; }

// The cheapest rung of the kind that keeps the promise of the file, else the one with the smallest error.
const RungLayout* best_of_kind(const LadderLayout& ladder, int kind) {
  const RungLayout* best = nullptr;
  for (const RungLayout& rung : ladder.rungs) {
    if (kind_number(rung.kind) != kind) continue;
    const auto keeps = [&](const RungLayout& r) { return r.meets(ladder.promise); };
    const bool better =
        best == nullptr || keeps(rung) > keeps(*best) ||
        (keeps(rung) == keeps(*best) &&
         (keeps(rung) ? rung.cost < best->cost
                      : rung.eps < best->eps || (rung.eps == best->eps && rung.rms < best->rms)));
    if (better) best = &rung;
  }
  return best;
}

}  // namespace

ResolvedKind resolved(const selfnorm_model* model, int kind) {
  const LadderLayout& ladder = model->layout.ladder;
  const RungLayout* rung = nullptr;
  if (kind == SELFNORM_AUTO) {
    const size_t i = cheapest_within(ladder.rungs, ladder.promise);
    if (i != kNoRung) rung = &ladder.rungs[i];
    kind = SELFNORM_EXACT;
  } else if (is_rung_kind(kind)) {
    rung = best_of_kind(ladder, kind);
  } else if (kind >= kFirstRung) {
    rung = &ladder.rungs[static_cast<size_t>(kind - kFirstRung)];
  }
  if (rung == nullptr) return {kind, nullptr, false};
  kind = kind_number(rung->kind);
  // A raw rung that is watched is computed as the others are.
  const bool is_watched = model->watch_every.load(std::memory_order_relaxed) > 0;
  const bool is_plain = kind == SELFNORM_EXACT || (kind == SELFNORM_RAW && !is_watched);
  return {kind, is_plain ? nullptr : rung, kind != SELFNORM_EXACT};
}

selfnorm_status check_kind(const selfnorm_model* model, int kind) {
  if (kind == SELFNORM_RAW || kind == SELFNORM_EXACT || kind == SELFNORM_AUTO) return SELFNORM_OK;
  if (kind == SELFNORM_AMORTISED) return check_amortised(model);
  const size_t rungs = model->layout.ladder.rungs.size();
  if (is_rung_kind(kind)) {
    if (best_of_kind(model->layout.ladder, kind) != nullptr) return SELFNORM_OK;
    return fail(
        SELFNORM_ERROR_ARGUMENT,
        "the ladder of the model has no rung of kind %d; expected SELFNORM_AUTO, or a model written by "
        "'selfnorm normalize --within' that has one",
        kind);
  }
  if (kind >= kFirstRung && static_cast<size_t>(kind - kFirstRung) < rungs) return SELFNORM_OK;
  if (kind >= kFirstRung)
    return fail(SELFNORM_ERROR_ARGUMENT, "rung %d of %zu, expected one below", kind - kFirstRung, rungs);
  return fail(SELFNORM_ERROR_ARGUMENT, "kind is %d, expected a value of selfnorm_kind or SELFNORM_RUNG(i)",
              kind);
}

bool log_normalizer(const selfnorm_model* model, const Query& x, const RungLayout& rung, double* out) {
  Approximation a;
  const bool has_number = model->scorer.log_normalizer(x, rung, &a);
  *out = a.log_z;
  const uint64_t every = model->watch_every.load(std::memory_order_relaxed);
  const bool is_watched = every > 0 && model->calls.fetch_add(1, std::memory_order_relaxed) % every == 0;
  if (has_number && !is_watched) return true;
  LogSumExp total;
  if (!model->scorer.log_sum(x, &total)) return false;
  if (is_watched) {
    const bool is_far = has_number && std::fabs(total.value() - a.log_z) > rung.eps;
    model->checked.fetch_add(1, std::memory_order_relaxed);
    model->exceeded.fetch_add(is_far ? 1 : 0, std::memory_order_relaxed);
  }
  if (!has_number) *out = total.value();
  return true;
}

}  // namespace selfnorm::runtime

using namespace selfnorm::runtime;

extern "C" {

size_t selfnorm_rungs(const selfnorm_model* model) { return model->layout.ladder.rungs.size(); }

selfnorm_status selfnorm_rung_at(const selfnorm_model* model, size_t i, selfnorm_rung* out) {
  if (model == nullptr || out == nullptr) return fail_null();
  const auto& rungs = model->layout.ladder.rungs;
  if (i >= rungs.size())
    return fail(SELFNORM_ERROR_ARGUMENT, "rung %zu of %zu, expected one below", i, rungs.size());
  const RungLayout& r = rungs[i];
  *out = {r.name.data(), r.name.size(), kind_number(r.kind), r.cost, r.rms, r.eps, r.rho, r.conf};
  return SELFNORM_OK;
}

void selfnorm_promise(const selfnorm_model* model, double* within, double* rho, double* conf) {
  const Promise& promise = model->layout.ladder.promise;
  if (within != nullptr) *within = promise.within;
  if (rho != nullptr) *rho = promise.rho;
  if (conf != nullptr) *conf = promise.conf;
}

int selfnorm_kind_within(const selfnorm_model* model, double eps, double rho) {
  const LadderLayout& ladder = model->layout.ladder;
  const size_t i = cheapest_within(ladder.rungs, {eps, rho, ladder.promise.conf});
  return i == kNoRung ? static_cast<int>(SELFNORM_EXACT) : SELFNORM_RUNG(i);
}

selfnorm_status selfnorm_error_bound(const selfnorm_model* model, int kind, double* eps, double* rho) {
  if (model == nullptr || eps == nullptr || rho == nullptr) return fail_null();
  SELFNORM_TRY(check_kind(model, kind));
  const auto& ladder = model->layout.ladder;
  const ResolvedKind what = resolved(model, kind);
  *eps = HUGE_VAL;
  *rho = 1;
  if (what.kind == SELFNORM_EXACT && what.rung == nullptr) *eps = *rho = 0;
  for (const RungLayout& rung : ladder.rungs) {
    const bool is_it = what.rung != nullptr ? &rung == what.rung
                       : what.kind == SELFNORM_AMORTISED
                           ? rung.name == "amortised"
                           : what.kind == SELFNORM_RAW && rung.kind == RungKind::Raw;
    if (!is_it) continue;
    *eps = rung.eps;
    *rho = rung.rho;
  }
  return SELFNORM_OK;
}

void selfnorm_watch(selfnorm_model* model, uint64_t every) {
  model->watch_every.store(every, std::memory_order_relaxed);
}

void selfnorm_watched(const selfnorm_model* model, uint64_t* checked, uint64_t* exceeded) {
  if (checked != nullptr) *checked = model->checked.load(std::memory_order_relaxed);
  if (exceeded != nullptr) *exceeded = model->exceeded.load(std::memory_order_relaxed);
}

}  // extern "C"
