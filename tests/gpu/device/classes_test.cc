// Training of classes on this machine's GPU (gpu/module_classes.h) against the referee, and the time of a
// step. `classes_test small` leaves out what takes long under a tool that makes it slow.
#include <numeric>

#include "../class_problems.h"
#include "harness.h"

namespace {

using namespace selfnorm::gpu;

void expect(bool holds, const std::string& what) {
  ++comparisons;
  if (holds) return;
  ++failures;
  std::printf("FAILED  %s\n", what.c_str());
}

std::vector<double> as_double(const std::vector<int64_t>& x) { return {x.begin(), x.end()}; }

// A sampled step with its memory.
struct SampledThere {
  Owned states, weight, bias, carrier, target, target_log_q, draw, draw_log_q, normalizer, factor, used, end,
      place, terms, d_states, d_used, d_used_bias, workspace;
  selfnorm_sampled_step s = {};

  // Rounds the problem's numbers to what the device has.
  SampledThere(SampledProblem& p, int type)
      : states(typed(p.states, type)),
        weight(typed(p.weight, type)),
        bias(copied(p.bias)),
        carrier(copied(p.carrier)),
        target(copied(p.target)),
        target_log_q(copied(p.target_log_q)),
        draw(copied(p.draw)),
        draw_log_q(copied(p.draw_log_q)),
        normalizer(copied(p.normalizer)),
        factor(copied(p.factor)) {
    const UsedLists lists(p);
    used = copied(lists.used), end = copied(lists.end), place = copied(lists.place);
    const auto n = static_cast<uint64_t>(p.rows), d = static_cast<uint64_t>(p.dim), u = lists.used.size();
    terms = std::make_unique<Device>(n * 16), d_states = std::make_unique<Device>(n * d * 4);
    d_used = std::make_unique<Device>(u * d * 4), d_used_bias = std::make_unique<Device>(u * 4);
    s.size = sizeof(s);
    s.rows = p.rows, s.dim = s.state_stride = s.weight_stride = p.dim, s.classes = p.classes;
    s.type = type, s.objective = p.objective, s.draws = p.draws;
    s.is_shared = p.is_shared, s.leaves_own = p.leaves_own, s.most_push = p.most_push;
    s.states = states->get(), s.weight = weight->get();
    s.bias = at<float>(bias), s.carrier = at<float>(carrier);
    s.target = at<uint32_t>(target), s.target_log_q = at<float>(target_log_q);
    s.draw = at<uint32_t>(draw), s.draw_log_q = at<float>(draw_log_q);
    s.normalizer = at<float>(normalizer), s.factor = at<float>(factor);
    s.used_count = static_cast<int64_t>(u), s.used = at<uint32_t>(used);
    s.used_end = at<uint32_t>(end), s.used_place = at<uint32_t>(place);
    s.terms = at<float>(terms), s.d_states = at<float>(d_states);
    s.d_used = at<float>(d_used), s.d_used_bias = at<float>(d_used_bias);
    s.workspace_bytes = selfnorm_sampled_workspace(&s);
    workspace = std::make_unique<Device>(s.workspace_bytes);
    s.workspace = workspace->get();
  }
};

void sampled(const NamedSampled& named, int type) {
  SampledProblem p = named.problem;
  const SampledThere there(p, type);
  const SampledResult wanted = sampled_reference(p);
  const UsedLists lists(p);
  const auto n = static_cast<size_t>(p.rows), d = static_cast<size_t>(p.dim), u = lists.used.size();
  must(selfnorm_sampled_run(context, &there.s));
  must(selfnorm_sampled_status(context, &there.s));
  must(selfnorm_cuda_wait(context));
  const std::string name = (type == SELFNORM_F32 ? "f32: " : "bf16: ") + named.name;
  const bool is_far = named.name.find("1000") != std::string::npos;  // a float near 1000 is off by 3e-5
  // Derivatives of shared draws are rounded to the type, scores are not.
  const double scores = is_far ? 1e-3 : 1e-5, bound = type == SELFNORM_F32 ? 5 * scores : 1e-2;
  const std::vector<float> terms = found<float>(there.terms, n * 4);
  const std::vector<double>* const all[] = {&wanted.loss, &wanted.d_b, &wanted.log_z, &wanted.effective};
  const char* const words[] = {"loss", "d b", "log Z hat", "effective"};
  for (size_t c = 0; c < 4; ++c) {
    std::vector<float> column;
    for (size_t i = 0; i < n; ++i) column.push_back(terms[i * 4 + c]);
    compare(name, words[c], column, *all[c], 5 * scores, 1e-3);
  }
  compare(name, "d states", found<float>(there.d_states, n * d), wanted.d_states, bound, 1e-2);
  std::vector<double> d_used, d_bias;
  for (const uint32_t k : lists.used) {
    d_used.insert(d_used.end(), wanted.d_weight.begin() + static_cast<ptrdiff_t>(k * d),
                  wanted.d_weight.begin() + static_cast<ptrdiff_t>((k + 1) * d));
    d_bias.push_back(wanted.d_bias[k]);
  }
  const std::vector<float> first = found<float>(there.d_used, u * d);
  compare(name, "d weight", first, d_used, bound, 1e-2);
  compare(name, "d bias", found<float>(there.d_used_bias, u), d_bias, bound, 1e-2);
  must(selfnorm_sampled_run(context, &there.s));
  must(selfnorm_cuda_wait(context));
  expect(std::memcmp(first.data(), found<float>(there.d_used, u * d).data(), first.size() * 4) == 0,
         name + ": two runs differ");
}

void wrong_classes() {
  for (const bool is_target : {true, false}) {
    SampledProblem p = random_sampled(3, SELFNORM_NCE, 8, 16, 50, 20, true);
    const SampledThere there(p, SELFNORM_F32);
    (is_target ? p.target[5] : p.draw[7]) = 50;
    auto& values = is_target ? p.target : p.draw;
    must(selfnorm_cuda_to_device(context, (is_target ? there.target : there.draw)->get(), values.data(),
                                 values.size() * 4));
    must(selfnorm_sampled_run(context, &there.s));
    const bool is_refused = selfnorm_sampled_status(context, &there.s) != 0;
    const std::string text = selfnorm_cuda_error(context);
    std::printf("wrong class: %s\n", text.c_str());
    expect(is_refused && text.find(is_target ? "row 5" : "draw 7") != std::string::npos,
           "a class out of range is not refused");
  }
  SampledProblem p = random_sampled(3, SELFNORM_NCE, 8, 16, 50, 20, true);
  SampledThere there(p, SELFNORM_F32);
  there.s.workspace_bytes /= 2;
  expect(selfnorm_sampled_run(context, &there.s) != 0, "too small a workspace is not refused");
  std::printf("small workspace: %s\n", selfnorm_cuda_error(context));
}

struct Sparse {
  std::vector<uint64_t> row_begin{0}, column_begin{0};
  std::vector<uint32_t> column, row;
  std::vector<float> value, row_value;

  explicit Sparse(const LinearProblem& p) {
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j)
        if (p.x[i * p.columns + j] != 0)
          column.push_back(static_cast<uint32_t>(j)), value.push_back(p.x[i * p.columns + j]);
      row_begin.push_back(column.size());
    }
    for (int64_t j = 0; j < p.columns; ++j) {
      for (int64_t i = 0; i < p.rows; ++i)
        if (p.x[i * p.columns + j] != 0)
          row.push_back(static_cast<uint32_t>(i)), row_value.push_back(p.x[i * p.columns + j]);
      column_begin.push_back(row.size());
    }
  }
};

struct LinearThere {
  Owned dense, row_begin, column, value, column_begin, row, row_value, theta, carrier, target, moments,
      better, by, gradient, workspace;
  selfnorm_linear_step s = {};

  LinearThere(const LinearProblem& p, bool is_sparse, int64_t at_once)
      : theta(copied(p.theta)), carrier(copied(p.carrier)), target(copied(p.target)) {
    if (is_sparse) {
      const Sparse x(p);
      row_begin = copied(x.row_begin), column = copied(x.column), value = copied(x.value);
      column_begin = copied(x.column_begin), row = copied(x.row), row_value = copied(x.row_value);
    } else {
      dense = copied(p.x);
    }
    moments = std::make_unique<Device>(static_cast<uint64_t>(at_once) * 40);
    better = std::make_unique<Device>(static_cast<uint64_t>(at_once) * 8);
    by = std::make_unique<Device>(static_cast<uint64_t>(at_once) * 16);
    gradient = std::make_unique<Device>(p.theta.size() * 4);
    s.size = sizeof(s);
    s.columns = p.columns, s.classes = p.classes, s.count = at_once;
    s.dense = at<float>(dense), s.row_begin = at<uint64_t>(row_begin), s.column = at<uint32_t>(column);
    s.value = at<float>(value), s.column_begin = at<uint64_t>(column_begin), s.row = at<uint32_t>(row);
    s.row_value = at<float>(row_value), s.theta = at<float>(theta), s.bias = s.theta + p.columns * p.classes;
    s.carrier = at<float>(carrier), s.target = at<int64_t>(target), s.moments = at<double>(moments);
    s.better = at<int64_t>(better), s.by_score = at<double>(by), s.by_log_z = s.by_score + at_once;
    s.gradient = at<float>(gradient);
    s.workspace_bytes = selfnorm_linear_workspace(&s);
    workspace = std::make_unique<Device>(s.workspace_bytes);
    s.workspace = workspace->get();
  }
};

void linear(const std::string& what, const LinearProblem& p, bool is_sparse, int64_t at_once) {
  LinearThere there(p, is_sparse, at_once);
  const LinearResult wanted = linear_reference(p);
  std::vector<float> log_z, score, expected, first;
  std::vector<int64_t> better;
  for (int turn = 0; turn < 2; ++turn) {
    log_z.clear(), score.clear(), expected.clear(), better.clear();
    for (int64_t begin = 0; begin < p.rows; begin += at_once) {
      const int64_t count = std::min(at_once, p.rows - begin);
      there.s.first = begin, there.s.count = count;
      must(selfnorm_linear_scores(context, &there.s));
      const auto m = found<double>(there.moments, static_cast<size_t>(count) * 5);
      const auto ahead = found<int64_t>(there.better, static_cast<size_t>(count));
      better.insert(better.end(), ahead.begin(), ahead.end());
      std::vector<double> by(static_cast<size_t>(at_once) * 2);
      for (int64_t i = 0; i < count; ++i) {
        log_z.push_back(static_cast<float>(m[i * 5] + std::log(m[i * 5 + 1])));
        expected.push_back(static_cast<float>(m[i * 5] + m[i * 5 + 2] / m[i * 5 + 1]));
        score.push_back(static_cast<float>(m[i * 5 + 4]));
        by[i] = p.by_score[begin + i], by[at_once + i] = p.by_log_z[begin + i];
      }
      must(selfnorm_cuda_to_device(context, there.by->get(), by.data(), by.size() * 8));
      there.s.is_added = begin > 0;
      must(selfnorm_linear_gradient(context, &there.s));
    }
    must(selfnorm_cuda_wait(context));
    const std::vector<float> gradient = found<float>(there.gradient, p.theta.size());
    if (turn == 0)
      first = gradient;
    else
      expect(first == gradient, what + ": two runs differ");
  }
  compare(what, "log Z", log_z, wanted.log_z, 3e-6);
  compare(what, "target score", score, wanted.target_score, 3e-6);
  compare(what, "expected", expected, wanted.expected, 2e-5, 1);
  compare(what, "better", {better.begin(), better.end()}, as_double(wanted.better), 1e-3, 1);
  compare(what, "gradient", first, wanted.gradient, 2e-5);
}

void adaptive(bool is_adam, bool is_mapped) {
  std::mt19937 random(5);
  constexpr int64_t kRows = 21, kColumns = 307, kTheta = 33;
  std::vector<float> theta = normals(random, kTheta * kColumns, 1), square(theta.size(), 0.5f),
                     mean(theta.size(), 0.1f), gradient = normals(random, kRows * kColumns, 1), often;
  for (int64_t r = 0; r < kTheta; ++r) often.push_back(0.25f + static_cast<float>(r % 4) / 4);
  std::vector<uint32_t> feature;
  for (uint32_t r = 0; r + 1 < kRows; ++r) feature.push_back(r + (r > 7 ? 9 : 0));
  const Owned there = copied(theta), squares = copied(square), means = copied(mean), g = copied(gradient),
              o = copied(often), f = copied(feature);
  const Owned norm = std::make_unique<Device>(257 * 8);
  selfnorm_adaptive_step s = {};
  s.size = sizeof(s);
  s.is_adam = is_adam, s.rows = kRows, s.columns = kColumns, s.bias_row = kTheta - 1,
  s.bias_column = is_mapped ? 5 : -1;
  s.feature = is_mapped ? at<uint32_t>(f) : nullptr, s.often = is_mapped ? at<float>(o) : nullptr;
  s.gradient = at<float>(g), s.theta = at<float>(there), s.square = at<float>(squares),
  s.mean = at<float>(means);
  s.rate = 0.05, s.l1 = 0.3, s.l2 = 0.2, s.step = 3, s.norm = at<double>(norm);
  must(selfnorm_adaptive_run(context, &s));
  must(selfnorm_cuda_wait(context));
  std::vector<double> x(theta.begin(), theta.end()), v(square.begin(), square.end()),
      m(mean.begin(), mean.end());
  double sum = 0;
  for (int64_t r = 0; r < kRows; ++r) {
    const bool is_bias_row = r + 1 == kRows;
    const int64_t row = is_bias_row ? kTheta - 1 : is_mapped ? feature[r] : r;
    for (int64_t k = 0; k < kColumns; ++k) {
      const bool is_bias = is_bias_row || k == s.bias_column;
      const int64_t place = row * kColumns + k;
      sum += static_cast<double>(gradient[r * kColumns + k]) * gradient[r * kColumns + k];
      adaptive_reference(s, gradient[r * kColumns + k], is_mapped && !is_bias ? often[row] : 1, is_bias,
                         x[place], v[place], m[place]);
    }
  }
  const std::string name = std::string(is_adam ? "adam" : "adagrad") + (is_mapped ? ", some rows" : "");
  compare(name, "theta", found<float>(there, theta.size()), x, 1e-6);
  compare(name, "square", found<float>(squares, square.size()), v, 1e-6);
  compare(name, "mean", found<float>(means, mean.size()), m, 1e-6);
  const double got = found<double>(norm, 1)[0];
  expect(std::abs(got - sum) <= 1e-9 * sum, name + ": norm");
}

void rows_at(bool decays) {
  std::mt19937 random(9);
  constexpr int64_t kAll = 40, kColumns = 50;
  std::vector<float> x = normals(random, kAll * kColumns, 1), square(kAll, 0.3f),
                     gradient = normals(random, 7 * kColumns, 1);
  std::vector<double> decayed(kAll, -0.25);
  const std::vector<uint32_t> index = {3, 39, 0, 17, 5, 8, 21};
  const Owned there = copied(x), squares = copied(square), g = copied(gradient), i = copied(index),
              old = copied(decayed);
  must(selfnorm_row_adagrad_at(context, at<float>(there), at<float>(squares),
                               decays ? at<double>(old) : nullptr, at<float>(g), at<uint32_t>(i), 7, kColumns,
                               0.1, -1, nullptr));
  std::vector<double> wanted(x.begin(), x.end());
  for (size_t r = 0; r < index.size(); ++r) {
    double sum = 0;
    for (int64_t j = 0; j < kColumns; ++j)
      sum += std::pow(static_cast<double>(gradient[r * kColumns + j]), 2);
    const double root = std::sqrt(0.3f + sum / kColumns);
    for (int64_t j = 0; j < kColumns; ++j) {
      double& to = wanted[index[r] * kColumns + j];
      to = (decays ? std::exp(-0.75) : 1) * to - 0.1 / root * gradient[r * kColumns + j];
    }
  }
  const char* const name = decays ? "rows with decay" : "rows";
  compare(name, "values", found<float>(there, x.size()), wanted, 1e-6);
  if (!decays) return;
  must(selfnorm_row_adagrad_at(context, at<float>(there), at<float>(squares), at<double>(old), nullptr,
                               nullptr, kAll, kColumns, 0, -1, nullptr));
  for (int64_t r = 0; r < kAll; ++r)
    for (int64_t j = 0; j < kColumns && std::find(index.begin(), index.end(), r) == index.end(); ++j)
      wanted[r * kColumns + j] *= std::exp(-0.75);
  compare(name, "settled", found<float>(there, x.size()), wanted, 1e-6);
}

void time_sampled(const char* name, bool is_shared, int64_t rows, int64_t dim, int64_t classes,
                  int64_t draws) {
  SampledProblem p = random_sampled(1, SELFNORM_SNL, rows, dim, classes, draws, is_shared);
  for (const int type : {SELFNORM_F32, SELFNORM_BF16}) {
    const SampledThere there(p, type);
    std::printf("%-62s %-4s %.4f ms a step\n", name, type == SELFNORM_F32 ? "f32" : "bf16",
                milliseconds(50, [&] { must(selfnorm_sampled_run(context, &there.s)); }));
  }
}

void time_linear(const char* name, int64_t rows, int64_t columns, int64_t classes, bool is_sparse) {
  const LinearProblem p = random_linear(1, rows, columns, classes, is_sparse, false);
  const LinearThere there(p, is_sparse, rows);
  const double scores = milliseconds(20, [&] { must(selfnorm_linear_scores(context, &there.s)); });
  const double both = milliseconds(20, [&] {
    must(selfnorm_linear_scores(context, &there.s));
    must(selfnorm_linear_gradient(context, &there.s));
  });
  std::printf("%-62s %.3f ms the scores, %.3f ms the gradient\n", name, scores, both - scores);
}

}  // namespace

int main(int argc, char**) {
  if (!open_first()) return 1;
  const bool is_small = argc > 1;
  size_t turn = 0;
  for (const NamedSampled& named : sampled_problems()) {
    if (is_small && turn++ % 3 != 0) continue;
    for (const int type : {SELFNORM_F32, SELFNORM_BF16}) sampled(named, type);
  }
  wrong_classes();
  for (const bool is_sparse : {false, true}) {
    const std::string kind = is_sparse ? "linear, sparse" : "linear, dense";
    linear(kind, random_linear(1, 130, 20, 77, is_sparse, false), is_sparse, 130);
    linear(kind + ", in parts, with a carrier", random_linear(2, 200, 33, 131, is_sparse, true), is_sparse,
           64);
    linear(kind + ", one row", random_linear(3, 1, 5, 3, is_sparse, true), is_sparse, 1);
    if (!is_small)
      linear(kind + ", many classes", random_linear(4, 70, 12, 9001, is_sparse, true), is_sparse, 70);
  }
  for (const bool is_adam : {false, true})
    for (const bool is_mapped : {false, true}) adaptive(is_adam, is_mapped);
  for (const bool decays : {false, true}) rows_at(decays);
  if (!is_small) {
    time_sampled("snl, 512 rows x 64, 33,278 classes, 100 draws of all", true, 512, 64, 33278, 100);
    time_sampled("snl, 512 rows x 64, 33,278 classes, 100 draws each", false, 512, 64, 33278, 100);
    time_sampled("snl, 4,096 rows x 768, 50,304 classes, 4,096 draws of all", true, 4096, 768, 50304, 4096);
    time_sampled("snl, 4,096 rows x 768, 50,304 classes, 256 draws each", false, 4096, 768, 50304, 256);
    time_linear("log-linear, dense, 20,000 rows x 256, 10,000 classes", 20000, 256, 10000, false);
    time_linear("log-linear, sparse (1/8 of 256), 20,000 rows, 10,000 classes", 20000, 256, 10000, true);
  }
  selfnorm_cuda_close(context);
  std::printf("classes_test: %d comparisons, %d failed\n", comparisons, failures);
  return failures == 0 ? 0 : 1;
}
