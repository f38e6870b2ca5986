// Every kernel of heads against the referee, on a GPU: `make gpu-test`. Prints a line a comparison, and fails
// where one is off.
#include "../head_problems.h"
#include "harness.h"

namespace {

using namespace selfnorm::gpu;

struct Types {
  const char* name;
  int type;
  double score, gradient;  // tolerances
};

std::vector<float> floats(const Owned& memory, int type, size_t count) {
  std::vector<float> out(count);
  must(selfnorm_cuda_download(context, out.data(), memory->get(), type, count));
  return out;
}

void run(const NamedProblem& named, const Types& types, bool is_cut, bool has_gradients, int gradient_type,
         int sheet_type) {
  HeadProblem p = named.problem;
  const Owned states = typed(p.states, types.type), weight = typed(p.weight, types.type);
  const Owned bias = typed(p.bias, SELFNORM_F32), carrier = typed(p.carrier, SELFNORM_F32);
  const Owned token_weight = typed(p.token_weight, SELFNORM_F32),
              row_gradient = typed(p.row_gradient, SELFNORM_F32);
  const Owned given = typed(p.given_log_z, SELFNORM_F32),
              selected_gradient = typed(p.selected_gradient, SELFNORM_F32);
  const Owned target = integers(p.target), selected = integers(p.selected);
  const HeadResult wanted = head_reference(p);
  const auto n = static_cast<uint64_t>(p.rows), k = static_cast<uint64_t>(p.classes),
             d = static_cast<uint64_t>(p.dim);
  const auto picks = static_cast<uint64_t>(p.picks);
  const Owned log_z = std::make_unique<Device>(n * 4), target_score = std::make_unique<Device>(n * 4),
              nll = std::make_unique<Device>(n * 4), penalty = std::make_unique<Device>(n * 4),
              entropy = std::make_unique<Device>(n * 4), expected = std::make_unique<Device>(n * 4),
              best = std::make_unique<Device>(n * 8), better = std::make_unique<Device>(n * 8),
              log_p = std::make_unique<Device>(n * picks * 4 + 4), loss = std::make_unique<Device>(12),
              d_states = std::make_unique<Device>(n * d * 4), d_weight = std::make_unique<Device>(k * d * 4),
              d_bias = std::make_unique<Device>(k * 4);
  selfnorm_head_step s = {};
  s.size = sizeof(s);
  s.rows = p.rows, s.dim = p.dim, s.classes = p.classes;
  s.type = types.type, s.sheet_type = sheet_type;
  s.states = states->get(), s.state_stride = p.dim, s.weight = weight->get(), s.weight_stride = p.dim;
  s.bias = at<float>(bias), s.carrier = at<float>(carrier);
  s.options = p.options;
  s.target = at<int64_t>(target), s.token_weight = at<float>(token_weight),
  s.row_gradient = at<float>(row_gradient);
  s.given_log_z = at<float>(given), s.selected = at<int64_t>(selected), s.picks = p.picks;
  s.selected_gradient = at<float>(selected_gradient);
  s.log_z = at<float>(log_z), s.target_score = at<float>(target_score), s.nll = at<float>(nll);
  s.row_penalty = at<float>(penalty);
  if (!has_gradients)
    s.entropy = at<float>(entropy), s.expected = at<float>(expected), s.best = at<int64_t>(best),
    s.better = at<int64_t>(better);
  s.selected_log_p = p.selected.empty() ? nullptr : at<float>(log_p);
  s.loss = p.target.empty() ? nullptr : at<float>(loss);
  if (has_gradients) {
    s.d_states = d_states->get(), s.d_weight = d_weight->get(), s.d_bias = at<float>(d_bias);
    s.d_states_type = s.d_weight_type = gradient_type;
  }
  const uint64_t bytes = selfnorm_head_workspace(&s, is_cut ? 5 * k * 4 : uint64_t{1} << 30);
  const Device workspace(bytes);
  s.workspace = workspace.get();
  s.workspace_bytes = bytes;
  const auto step = [&] {
    must(selfnorm_head_run(context, &s));
    if (s.target != nullptr || s.selected != nullptr) must(selfnorm_head_status(context, &s));
    must(selfnorm_cuda_wait(context));
  };
  step();

  const std::string name = std::string(types.name) + (sheet_type != types.type ? ", sheet f32" : "") +
                           (is_cut ? ", cut: " : ": ") + named.name;
  const double tolerance = sheet_type == SELFNORM_F32 ? 3e-6 : types.score;
  const auto rows = [&](const Owned& memory) { return floats(memory, SELFNORM_F32, n); };
  compare(name, "log Z", rows(log_z), wanted.log_z, tolerance);
  if (!p.target.empty()) {
    compare(name, "target score", rows(target_score), wanted.target_score, tolerance);
    compare(name, "nll", rows(nll), wanted.nll, 4 * tolerance, 1e-2);
    compare(name, "penalty", rows(penalty), wanted.penalty, 8 * tolerance, 1e-3);
    compare(name, "loss", floats(loss, SELFNORM_F32, 3),
            {wanted.loss, wanted.likelihood, wanted.loss_penalty}, 4 * tolerance, 1e-2);
  }
  if (!p.selected.empty())
    compare(name, "selected", floats(log_p, SELFNORM_F32, n * picks), wanted.selected_log_p, 2 * tolerance);
  if (!has_gradients) {
    compare(name, "entropy", rows(entropy), wanted.entropy, 4 * tolerance, 1);
    compare(name, "expected", rows(expected), wanted.expected, 4 * tolerance, 1);
    // Rounded scores have ties; those of float32 do not.
    const auto expect_same = [&](const char* what, const Owned& memory, const std::vector<int64_t>& counted) {
      std::vector<int64_t> found(n);
      must(selfnorm_cuda_to_host(context, found.data(), memory->get(), n * 8));
      int64_t same = 0;
      for (uint64_t i = 0; i < n; ++i)
        same += std::abs(found[i] - counted[i]) <= (sheet_type == SELFNORM_F32 ? 0 : counted[i] / 8) ? 1 : 0;
      ++comparisons;
      if (same == p.rows || (sheet_type != SELFNORM_F32 && same >= p.rows * 3 / 4)) return;
      ++failures;
      std::printf("FAILED  %-58s %-14s %ld of %ld rows\n", name.c_str(), what, same, p.rows);
    };
    expect_same("best class", best, wanted.best);
    if (!p.target.empty()) expect_same("better classes", better, wanted.better);
    return;
  }
  const double bound = types.gradient;
  compare(name, "d states", floats(d_states, gradient_type, n * d), wanted.d_states, bound, 1e-3);
  const std::vector<float> first = floats(d_weight, gradient_type, k * d);
  compare(name, "d weight", first, wanted.d_weight, bound, 1e-3);
  compare(name, "d bias", floats(d_bias, SELFNORM_F32, k), wanted.d_bias, bound, 1e-3);
  step();  // the same bits again
  ++comparisons;
  if (std::memcmp(first.data(), floats(d_weight, gradient_type, k * d).data(), first.size() * 4) != 0) {
    ++failures;
    std::printf("FAILED  %s: two runs differ\n", name.c_str());
  }
  s.is_added = 1;  // added to what is there: twice as much
  step();
  std::vector<double> twice = wanted.d_weight;
  for (double& x : twice) x *= 2;
  compare(name, "d weight twice", floats(d_weight, gradient_type, k * d), twice, bound, 1e-3);
}

// A target out of range is an error that names the row; the next step is not hurt.
void wrong_target() {
  HeadProblem p = random_head_problem(3, 8, 16, 50);
  p.target[5] = 50;
  const Owned states = typed(p.states, SELFNORM_F32), weight = typed(p.weight, SELFNORM_F32),
              target = integers(p.target);
  const Device loss(12);
  selfnorm_head_step s = {};
  s.size = sizeof(s);
  s.rows = p.rows, s.dim = p.dim, s.classes = p.classes;
  s.states = states->get(), s.state_stride = p.dim, s.weight = weight->get(), s.weight_stride = p.dim;
  s.options = p.options, s.target = at<int64_t>(target), s.loss = static_cast<float*>(loss.get());
  const uint64_t bytes = selfnorm_head_workspace(&s, 1 << 20);
  const Device workspace(bytes);
  s.workspace = workspace.get(), s.workspace_bytes = bytes;
  must(selfnorm_head_run(context, &s));
  const bool is_refused = selfnorm_head_status(context, &s) != 0;
  const std::string text = selfnorm_cuda_error(context);
  float value = 0;
  must(selfnorm_cuda_to_host(context, &value, loss.get(), 4));
  ++comparisons;
  std::printf("wrong target: %s\n", text.c_str());
  if (is_refused && text.find("row 5") != std::string::npos && std::isnan(value)) return;
  ++failures;
  std::printf("FAILED  a target out of range is not refused\n");
}

// Two heads on the same rows, a few at a time.
void difference(const Types& types) {
  HeadProblem p = random_head_problem(5, 37, 24, 1003), q = p;
  p.options.softcap = q.options.softcap = 30;
  for (size_t i = 0; i < q.weight.size(); i += 3) q.weight[i] += 0.05f;
  const Owned states = typed(p.states, types.type), weight = typed(p.weight, types.type),
              other = typed(q.weight, types.type);
  q.states = p.states;
  const Owned bias = typed(p.bias, SELFNORM_F32), carrier = typed(p.carrier, SELFNORM_F32);
  const auto rows = static_cast<size_t>(p.rows);
  const Device moments(rows * 40), other_moments(rows * 40), out(rows * 24);
  selfnorm_head_step s = {};
  s.size = sizeof(s);
  s.rows = p.rows, s.dim = p.dim, s.classes = p.classes;
  s.type = types.type, s.sheet_type = SELFNORM_F32;
  s.states = states->get(), s.state_stride = p.dim, s.weight = weight->get(), s.weight_stride = p.dim;
  s.bias = at<float>(bias), s.carrier = at<float>(carrier), s.options = p.options;
  s.moments = static_cast<double*>(moments.get());
  const uint64_t bytes = selfnorm_head_workspace(&s, 10 * 1024 * 4);
  const Device workspace(bytes), other_workspace(bytes);
  s.workspace = workspace.get(), s.workspace_bytes = bytes;
  selfnorm_head_step t = s;
  t.weight = other->get(), t.moments = static_cast<double*>(other_moments.get()),
  t.workspace = other_workspace.get();
  constexpr double kVisible = 1e-4;
  must(selfnorm_head_difference(context, &s, &t, kVisible, static_cast<double*>(out.get())));
  std::vector<double> got(rows * 3), wanted;
  must(selfnorm_cuda_to_host(context, got.data(), out.get(), got.size() * 8));
  // One row at a time, with every class selected.
  for (size_t i = 0; i < rows; ++i) {
    std::vector<double> log_p[2];
    for (const HeadProblem* whole : {&p, &q}) {
      HeadProblem row = *whole;
      row.rows = 1;
      row.states.assign(whole->states.begin() + static_cast<ptrdiff_t>(i * 24),
                        whole->states.begin() + static_cast<ptrdiff_t>(i * 24 + 24));
      row.target.clear(), row.token_weight.clear(), row.row_gradient.clear(), row.given_log_z.clear();
      row.picks = row.classes;
      row.selected.resize(static_cast<size_t>(row.classes));
      std::iota(row.selected.begin(), row.selected.end(), 0);
      row.selected_gradient.assign(row.selected.size(), 0.0f);
      log_p[whole == &q] = head_reference(row).selected_log_p;
    }
    double most = 0, log_most = 0, kl = 0;
    for (size_t k = 0; k < log_p[0].size(); ++k) {
      const double share = std::exp(log_p[0][k]), change = log_p[0][k] - log_p[1][k];
      most = std::max(most, std::abs(share - std::exp(log_p[1][k])));
      if (share >= kVisible) log_most = std::max(log_most, std::abs(change));
      kl += share * change;
    }
    wanted.insert(wanted.end(), {most, log_most, kl});
  }
  compare("difference of two heads", types.name, std::vector<float>(got.begin(), got.end()), wanted, 1e-3);
}

// Masses of clusters and shares of classes, a few rows at a time.
void masses(const Types& types) {
  HeadProblem p = random_head_problem(6, 41, 24, 1003);
  std::mt19937 random(2);
  p.bias = normals(random, p.classes, 1), p.carrier = normals(random, p.classes, 0.5f);
  const Owned states = typed(p.states, types.type), weight = typed(p.weight, types.type);
  const Owned bias = typed(p.bias, SELFNORM_F32), carrier = typed(p.carrier, SELFNORM_F32);
  constexpr uint32_t kClusters = 37;
  std::vector<std::vector<uint32_t>> members(kClusters);
  for (uint32_t k = 0; k < 1003; ++k) members[k * k % 1003 % kClusters].push_back(k);
  std::vector<uint32_t> order, begin = {0};
  for (const auto& some : members) {
    order.insert(order.end(), some.begin(), some.end());
    begin.push_back(static_cast<uint32_t>(order.size()));
  }
  const Owned order_there = copied(order), begin_there = copied(begin);
  const auto rows = static_cast<size_t>(p.rows), classes = static_cast<size_t>(p.classes);
  const Owned moments = std::make_unique<Device>(rows * 40),
              found_masses = std::make_unique<Device>(rows * kClusters * 4),
              shares = std::make_unique<Device>(classes * 8);
  selfnorm_head_step s = {};
  s.size = sizeof(s);
  s.rows = p.rows, s.dim = p.dim, s.classes = p.classes;
  s.type = types.type, s.sheet_type = SELFNORM_F32;
  s.states = states->get(), s.state_stride = p.dim, s.weight = weight->get(), s.weight_stride = p.dim;
  s.bias = at<float>(bias), s.carrier = at<float>(carrier), s.options = p.options;
  s.moments = at<double>(moments);
  s.workspace_bytes = selfnorm_head_workspace(&s, 10 * 1024 * 4);
  const Device workspace(s.workspace_bytes);
  s.workspace = workspace.get();
  must(selfnorm_head_masses(context, &s, at<uint32_t>(order_there), at<uint32_t>(begin_there), kClusters,
                            at<float>(found_masses), at<double>(shares)));
  const MassResult wanted = masses_reference(p, order, begin);
  compare("masses of clusters", types.name, found<float>(found_masses, rows * kClusters), wanted.masses,
          1e-5);
  const std::vector<double> share = found<double>(shares, classes);
  compare("shares of classes", types.name, {share.begin(), share.end()}, wanted.shares, 1e-5);
}

void too_much_memory() {
  void* memory = nullptr;
  ++comparisons;
  if (selfnorm_cuda_allocate(context, uint64_t{1} << 50, &memory) == 0) {
    ++failures;
    std::printf("FAILED  a pebibyte was allocated\n");
  }
  std::printf("too much memory: %s\n", selfnorm_cuda_error(context));
}

}  // namespace

// `gpu_test bf16 12` runs one type alone, and the first 12 problems of it, for tools that make it slow.
int main(int count, char** words) {
  if (!open_first()) return 1;
  std::vector<NamedProblem> problems = head_problems();
  const HeadProblem whole = problems[9].problem;
  const HeadResult result = head_reference(whole);
  // More rows than are worked on at once, in one block each and in several.
  problems.push_back({"600 rows", random_head_problem(11, 600, 16, 203)});
  problems.push_back({"300 rows of 40,000 classes", random_head_problem(12, 300, 8, 40000)});
  problems.push_back({"first shard of classes", shard_of(whole, 0, 100, result)});
  problems.push_back({"last shard of classes", shard_of(whole, 100, whole.classes, result)});
  if (count > 2) problems.resize(std::min<size_t>(problems.size(), std::strtoul(words[2], nullptr, 10)));
  // Scores near 5 rounded to a 16-bit float are off by 2^-9 or 2^-12 of themselves; their gradients likewise.
  const Types all[] = {{"f32", SELFNORM_F32, 3e-6, 2e-5},
                       {"f16", SELFNORM_F16, 4e-4, 3e-3},
                       {"bf16", SELFNORM_BF16, 3e-3, 2e-2}};
  for (const Types& types : all) {
    if (count > 1 && std::strcmp(words[1], types.name) != 0) continue;
    for (const NamedProblem& named : problems) {
      for (const bool is_cut : {false, true}) {
        const int before = failures;
        run(named, types, is_cut, true, SELFNORM_F32, types.type);
        if (types.type != SELFNORM_F32) run(named, types, is_cut, true, types.type, types.type);
        run(named, types, is_cut, false, SELFNORM_F32, types.type);
        if (types.type != SELFNORM_F32) run(named, types, is_cut, false, SELFNORM_F32, SELFNORM_F32);
        if (!is_cut)
          std::printf("%-8s %-5s %s\n", failures == before ? "ok" : "FAILED", types.name, named.name.c_str());
      }
    }
  }
  for (const Types& types : all)
    if (count == 1 || std::strcmp(words[1], types.name) == 0) difference(types), masses(types);
  wrong_target();
  too_much_memory();
  selfnorm_cuda_close(context);
  std::printf("%d comparisons, %d failed\n", comparisons, failures);
  return failures == 0 ? 0 : 1;
}
