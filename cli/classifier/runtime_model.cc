#include "classifier/runtime_model.h"

#include <algorithm>

#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm::cli {
namespace {

void check(selfnorm_status status) {
  if (status != SELFNORM_OK) throw Error(selfnorm_error_message());
}

}  // namespace

RuntimeModel::RuntimeModel(const ModelHeader& header) {
  selfnorm_model* model = nullptr;
  if (header.head != nullptr) {
    bytes_ = model_bytes(header.head->model, header.path);
    check(selfnorm_open_memory(bytes_.data(), bytes_.size(), &model));
  } else {
    check(selfnorm_open(header.path.c_str(), &model));
  }
  model_.reset(model);
  if (selfnorm_verify(model) == SELFNORM_ERROR_CHECKSUM)
    throw Error(selfnorm_error_message() + std::string("; take another copy of it"));
}

template <class Sparse, class Dense, class... Rest>
void RuntimeModel::call(const Features& x, uint64_t row, Sparse sparse, Dense dense, Rest... rest) const {
  if (x.is_sparse) {
    const uint64_t begin = x.sparse.begin[row];
    return check(sparse(model_.get(), x.sparse.column.data() + begin, x.sparse.value.data() + begin,
                        x.sparse.begin[row + 1] - begin, rest...));
  }
  std::span<const float> values = x.dense.row(row);
  if (const size_t d = selfnorm_features(model_.get()); values.size() < d) {
    thread_local std::vector<float> padded;
    padded.assign(d, 0.0f);
    std::copy(values.begin(), values.end(), padded.begin());
    values = padded;
  }
  check(dense(model_.get(), values.data(), values.size(), rest...));
}

void RuntimeModel::score(const Features& x, uint64_t row, std::span<const uint32_t> classes, int kind,
                         std::span<double> out) const {
  call(x, row, selfnorm_score_sparse, selfnorm_score_dense, classes.data(), classes.size(), kind, out.data());
}

std::vector<Candidate> RuntimeModel::top(const Features& x, uint64_t row, size_t n, int kind) const {
  n = std::min<size_t>(n, classes());
  std::vector<uint32_t> best(n);
  std::vector<double> log_probs(n);
  call(x, row, selfnorm_top_sparse, selfnorm_top_dense, n, kind, best.data(), log_probs.data());
  std::vector<Candidate> candidates(n);
  for (size_t i = 0; i < n; ++i) candidates[i] = {best[i], log_probs[i]};
  return candidates;
}

std::vector<Candidate> RuntimeModel::alternatives(const Features& x, uint64_t begin, uint64_t end,
                                                  int kind) const {
  std::vector<Candidate> all(end - begin);
  std::vector<double> raw(end - begin);
  for (uint64_t row = begin; row < end; ++row)
    call(x, row, selfnorm_score_alternative_sparse, selfnorm_score_alternative_dense, &raw[row - begin]);
  LogSumExp total;
  for (const double s : raw) total.add(s);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = {static_cast<uint32_t>(i), kind == SELFNORM_EXACT ? total.log_share(raw[i]) : raw[i]};
  return all;
}

void RuntimeModel::score_contexts(std::span<const uint32_t> contexts, std::span<const uint32_t> words,
                                  int kind, std::span<double> out) const {
  check(selfnorm_score_contexts(model_.get(), contexts.data(), words.data(), words.size(), kind, out.data()));
}

std::vector<float> RuntimeModel::context_state(std::span<const uint32_t> context) const {
  std::vector<float> state(selfnorm_features(model_.get()));
  check(selfnorm_encode_context(model_.get(), context.data(), state.data()));
  return state;
}

void RuntimeModel::precompute(unsigned threads) { check(selfnorm_precompute(model_.get(), threads)); }

}  // namespace selfnorm::cli
