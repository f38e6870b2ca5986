// Training of a network energy (gpu/module.h): memory, the runs of steps as CUDA graphs, and what goes in and out.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "gpu/cuda/context.cuh"
#include "gpu/cuda/energy_kernels.cuh"

using namespace selfnorm::gpu;

struct selfnorm_energy {
  selfnorm_energy(selfnorm_cuda_context& context, const selfnorm_energy_plan& plan) : context(context), task{plan, EnergyLayout(plan), {}, 0, 0} {}

  selfnorm_cuda_context& context;
  EnergyTask task;
  int points = 4;  // of a block
  cudaStream_t stream = nullptr;
  std::map<int, cudaGraphExec_t> runs;  // by their steps
  std::vector<void*> memory, pinned;
  float *host_points = nullptr, *scored = nullptr;
  double *host_log_q = nullptr, *scores = nullptr;
  selfnorm_energy_at* host_at = nullptr;
  selfnorm_energy_record* host_records = nullptr;
  selfnorm_energy_state* host_state = nullptr;
  int state = 0;  // which of the two is current

  template <class T>
  void allocate(T*& out, size_t count, const char* what) {
    void* made = nullptr;
    check(cudaMalloc(&made, count * sizeof(T)), what);
    memory.push_back(made);
    out = static_cast<T*>(made);
  }
  template <class T>
  void pin(T*& out, size_t count) {
    void* made = nullptr;
    check(cudaMallocHost(&made, count * sizeof(T)), "pinned memory of an energy");
    pinned.push_back(made);
    out = static_cast<T*>(made);
  }
};

namespace {

constexpr int64_t kScoredAtOnce = 1 << 16;

void verify(const selfnorm_energy_plan& p) {
  const auto must = [](bool holds, const char* what) {
    if (!holds) throw Failure(std::string("an energy: ") + what);
  };
  must(p.size == sizeof(selfnorm_energy_plan), "the caller was built for another version of the module");
  must(p.inputs > 0 && p.fourier >= 0 && p.layers > 0 && p.layers <= SELFNORM_MOST_LAYERS, "the network has no layers, or too many");
  for (int l = 0; l < p.layers; ++l) must(p.widths[l] > 0, "a layer has no units");
  must(p.rows > 0 && p.samples > 0 && p.most_steps > 0, "a step has no points");
  must(p.activation >= kSilu && p.activation <= kGelu, "the activation is not known");
  must(p.remember_every > 0, "steps between remembered parameters are 0");
}

// As many points at once as spread a step over all multiprocessors and have room.
int points_at_once(const EnergyTask& task, const cudaDeviceProp& device) {
  const int wanted = (task.plan.rows + task.plan.samples + device.multiProcessorCount - 1) / device.multiProcessorCount;
  int points = std::clamp((wanted + 3) / 4 * 4, 4, 16);
  while (points > 4 && pass_memory(task, points) > device.sharedMemPerBlockOptin - 4096) points -= 4;
  if (pass_memory(task, points) <= device.sharedMemPerBlockOptin - 4096) return points;
  throw Failure("the layers of the energy are too wide for a multiprocessor, which has " +
                std::to_string(device.sharedMemPerBlockOptin >> 10) + " KiB for them, and " +
                std::to_string(pass_memory(task, points) >> 10) + " are needed; make them narrower, or train on the CPU");
}

void open(selfnorm_energy& e) {
  EnergyTask& t = e.task;
  const auto n = static_cast<size_t>(t.layout.parameters);
  const auto points = static_cast<size_t>(t.plan.rows + t.plan.samples), steps = static_cast<size_t>(t.plan.most_steps);
  t.widest = *std::max_element(t.layout.width, t.layout.width + t.plan.layers + 1);
  e.points = points_at_once(t, e.context.properties);
  t.blocks = static_cast<int>(std::min<size_t>((points + e.points - 1) / e.points, static_cast<size_t>(e.context.properties.multiProcessorCount)));
  prepare_pass(t, e.points);
  check(cudaStreamCreateWithFlags(&e.stream, cudaStreamNonBlocking), "a stream");
  for (float** values : {&t.to.theta, &t.to.turned, &t.to.mean, &t.to.square, &t.to.remembered, &t.to.gradient}) {
    e.allocate(*values, n, "the parameters of an energy");
    check(cudaMemsetAsync(*values, 0, n * sizeof(float), e.stream), "the parameters of an energy");
  }
  e.allocate(t.to.partial, n * static_cast<size_t>(t.blocks), "the gradients of an energy");
  e.allocate(t.to.squares, static_cast<size_t>(gradient_blocks(t)), "the gradients of an energy");
  e.allocate(t.to.sums, static_cast<size_t>(t.blocks), "the sums of an energy");
  e.allocate(t.to.states, 2, "the state of an energy");
  check(cudaMemsetAsync(t.to.states, 0, 2 * sizeof(selfnorm_energy_state), e.stream), "the state of an energy");
  e.allocate(t.to.records, steps, "the records of an energy");
  e.allocate(t.to.at, steps, "the steps of an energy");
  e.allocate(t.to.points, steps * points * static_cast<size_t>(t.plan.inputs), "the points of an energy");
  e.pin(e.host_points, steps * points * static_cast<size_t>(t.plan.inputs));
  if (t.plan.has_log_q != 0) {
    e.allocate(t.to.log_q, steps * points, "the points of an energy");
    e.pin(e.host_log_q, steps * points);
  }
  e.pin(e.host_at, steps);
  e.pin(e.host_records, steps);
  e.pin(e.host_state, 1);
  e.allocate(e.scored, static_cast<size_t>(kScoredAtOnce * t.plan.inputs), "the points of an energy");
  e.allocate(e.scores, kScoredAtOnce, "the scores of an energy");
}

template <class T>
void send(selfnorm_energy& e, T* to, const T* from, size_t count) {
  check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, e.stream), "a copy");
}
template <class T>
void fetch(selfnorm_energy& e, T* to, const T* from, size_t count) {
  check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, e.stream), "a copy");
}

cudaGraphExec_t graph_of(selfnorm_energy& e, int steps) {
  if (const auto found = e.runs.find(steps); found != e.runs.end()) return found->second;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  check(cudaStreamBeginCapture(e.stream, cudaStreamCaptureModeThreadLocal), "a graph");
  for (int i = 0; i < steps; ++i) launch_step(e.task, e.points, i, e.stream);
  check(cudaStreamEndCapture(e.stream, &graph), "a graph");
  const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "a graph");
  e.runs.emplace(steps, made);
  return made;
}

// The state that the first step of a run reads is the first of the two.
void run(selfnorm_energy& e, const selfnorm_energy_run_of& r) {
  if (r.size != sizeof(selfnorm_energy_run_of)) throw Failure("a run of an energy: the caller was built for another version of the module");
  const EnergyTask& t = e.task;
  if (r.steps < 1 || r.steps > t.plan.most_steps || (r.at[0].is_continued != 0 && r.steps != 1))
    throw Failure("a run of an energy has " + std::to_string(r.steps) + " steps");
  const auto steps = static_cast<size_t>(r.steps), points = static_cast<size_t>(t.plan.rows + t.plan.samples);
  const bool is_continued = r.at[0].is_continued != 0;
  std::memcpy(e.host_at, r.at, steps * sizeof(*r.at));
  send(e, t.to.at, e.host_at, steps);
  if (!is_continued) {
    std::memcpy(e.host_points, r.points, steps * points * static_cast<size_t>(t.plan.inputs) * sizeof(float));
    send(e, t.to.points, e.host_points, steps * points * static_cast<size_t>(t.plan.inputs));
    if (t.plan.has_log_q != 0) {
      std::memcpy(e.host_log_q, r.log_q, steps * points * sizeof(double));
      send(e, t.to.log_q, e.host_log_q, steps * points);
    }
  }
  if (e.state == 1) check(cudaMemcpyAsync(t.to.states, t.to.states + 1, sizeof(selfnorm_energy_state), cudaMemcpyDeviceToDevice, e.stream), "a copy");
  if (is_continued) launch_move(t, 0, e.stream);
  else check(cudaGraphLaunch(graph_of(e, r.steps), e.stream), "a graph");
  e.state = r.steps % 2;
  fetch(e, e.host_records, t.to.records, steps);
  check(cudaStreamSynchronize(e.stream), "a run of an energy");
  *r.taken = r.steps;
  if (is_continued) return;
  for (int i = 0; i < r.steps; ++i) {
    r.records[i] = e.host_records[i];
    if (r.records[i].event == SELFNORM_STEP_MOVED) continue;
    *r.taken = i + 1;
    return;
  }
}

}  // namespace

extern "C" {

int64_t selfnorm_energy_parameters(const selfnorm_energy_plan* plan) { return EnergyLayout(*plan).parameters; }

int selfnorm_energy_open(selfnorm_cuda_context* context, const selfnorm_energy_plan* plan, selfnorm_energy** out) {
  *out = nullptr;
  selfnorm_energy* made = nullptr;
  const int failed = guarded(context, [&] {
    verify(*plan);
    made = new selfnorm_energy(*context, *plan);
    open(*made);
  });
  if (failed == 0) *out = made;
  else selfnorm_energy_close(made);
  return failed;
}

void selfnorm_energy_close(selfnorm_energy* e) {
  if (e == nullptr) return;
  cudaSetDevice(e->context.device);
  for (auto& [steps, graph] : e->runs) cudaGraphExecDestroy(graph);
  for (void* memory : e->memory) cudaFree(memory);
  for (void* memory : e->pinned) cudaFreeHost(memory);
  if (e->stream != nullptr) cudaStreamDestroy(e->stream);
  delete e;
}

int selfnorm_energy_put(selfnorm_energy* e, const float* theta, const float* mean, const float* square,
                        const float* remembered, const selfnorm_energy_state* state) {
  return guarded(&e->context, [&] {
    const EnergyBuffers& to = e->task.to;
    const auto n = static_cast<size_t>(e->task.layout.parameters);
    if (theta != nullptr) {
      send(*e, to.theta, theta, n);
      launch_turn(e->task, e->stream);
    }
    if (mean != nullptr) send(*e, to.mean, mean, n);
    if (square != nullptr) send(*e, to.square, square, n);
    if (remembered != nullptr) send(*e, to.remembered, remembered, n);
    if (state != nullptr) {
      *e->host_state = *state;
      send(*e, to.states + e->state, e->host_state, 1);
    }
    check(cudaStreamSynchronize(e->stream), "the parameters of an energy");
  });
}

int selfnorm_energy_get(selfnorm_energy* e, float* theta, float* mean, float* square, float* remembered,
                        selfnorm_energy_state* state) {
  return guarded(&e->context, [&] {
    const EnergyBuffers& from = e->task.to;
    const auto n = static_cast<size_t>(e->task.layout.parameters);
    if (theta != nullptr) fetch(*e, theta, from.theta, n);
    if (mean != nullptr) fetch(*e, mean, from.mean, n);
    if (square != nullptr) fetch(*e, square, from.square, n);
    if (remembered != nullptr) fetch(*e, remembered, from.remembered, n);
    if (state != nullptr) fetch(*e, e->host_state, from.states + e->state, 1);
    check(cudaStreamSynchronize(e->stream), "the parameters of an energy");
    if (state != nullptr) *state = *e->host_state;
  });
}

int selfnorm_energy_run(selfnorm_energy* e, const selfnorm_energy_run_of* r) {
  return guarded(&e->context, [&] { run(*e, *r); });
}

int selfnorm_energy_scores(selfnorm_energy* e, const float* points, int64_t count, double* scores) {
  return guarded(&e->context, [&] {
    const auto d = static_cast<size_t>(e->task.plan.inputs);
    for (int64_t first = 0; first < count; first += kScoredAtOnce) {
      const int64_t some = std::min(kScoredAtOnce, count - first);
      send(*e, e->scored, points + static_cast<size_t>(first) * d, static_cast<size_t>(some) * d);
      launch_scores(e->task, e->points, e->scored, some, e->scores, e->stream);
      fetch(*e, scores + first, e->scores, static_cast<size_t>(some));
      check(cudaStreamSynchronize(e->stream), "the scores of an energy");
    }
  });
}

int selfnorm_energy_gradient(selfnorm_energy* e, float* gradient) {
  return guarded(&e->context, [&] {
    fetch(*e, gradient, e->task.to.gradient, static_cast<size_t>(e->task.layout.parameters));
    check(cudaStreamSynchronize(e->stream), "the gradient of an energy");
  });
}

}  // extern "C"
