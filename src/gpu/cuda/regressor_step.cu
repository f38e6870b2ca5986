// Training of a regressor (gpu/module.h): memory, the runs of steps as CUDA graphs, and what goes in and out.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "gpu/cuda/context.cuh"
#include "gpu/cuda/regressor_kernels.cuh"

using namespace selfnorm::gpu;

namespace {

// What a run sends, at its place in pinned memory and on the device.
template <class T>
struct Sent {
  T *host = nullptr, **device = nullptr;
  size_t each = 0;  // of a step
};

}  // namespace

struct selfnorm_regressor {
  selfnorm_regressor(selfnorm_cuda_context& context, const selfnorm_regressor_plan& plan)
      : context(context), task{plan, RegressorLayout(plan), {}, {}, 0, 0, 0} {}

  selfnorm_cuda_context& context;
  RegressorTask task;
  cudaStream_t stream = nullptr;
  std::map<int, cudaGraphExec_t> runs;  // by their steps
  std::vector<void*> memory, pinned;
  Sent<selfnorm_regressor_at> at;
  Sent<float> numbers, targets;
  Sent<uint32_t> levels;
  Sent<double> weight, choice, normal;
  selfnorm_regressor_record* records = nullptr;  // pinned

  template <class T>
  void allocate(T*& out, size_t count, const char* what) {
    void* made = nullptr;
    check(cudaMalloc(&made, std::max<size_t>(count, 1) * sizeof(T)), what);
    memory.push_back(made);
    out = static_cast<T*>(made);
  }
  template <class T>
  void pin(T*& out, size_t count) {
    void* made = nullptr;
    check(cudaMallocHost(&made, std::max<size_t>(count, 1) * sizeof(T)), "pinned memory of a regressor");
    pinned.push_back(made);
    out = static_cast<T*>(made);
  }
  template <class T>
  void allocate(Sent<T>& out, T*& device, size_t each) {
    out.device = &device, out.each = each;
    const size_t count = each * static_cast<size_t>(task.plan.most_steps);
    allocate(device, count, "the rows of a regressor");
    pin(out.host, count);
  }
  template <class T>
  void send(const Sent<T>& sent, const T* from, size_t steps) const {
    const size_t bytes = steps * sent.each * sizeof(T);
    if (bytes == 0) return;
    std::memcpy(sent.host, from, bytes);
    check(cudaMemcpyAsync(*sent.device, sent.host, bytes, cudaMemcpyHostToDevice, stream), "a copy");
  }
};

namespace {

void verify(const selfnorm_regressor_plan& p) {
  const auto must = [](bool holds, const char* what) {
    if (!holds) throw Failure(std::string("a regressor: ") + what);
  };
  must(p.size == sizeof(selfnorm_regressor_plan), "the caller was built for another version of the module");
  int64_t layers = 0, parameters = 0;
  for (const selfnorm_dense_plan* net : {&p.features, &p.tilt_features, &p.mixture, &p.context, &p.tilt, &p.normalizer}) {
    must(net->layers >= 0 && net->layers <= SELFNORM_MOST_LAYERS, "a network has too many layers");
    layers += net->layers;
    for (int l = 0, in = net->inputs; l < net->layers; in = net->widths[l++]) {
      must(net->widths[l] > 0, "a layer has no units");
      parameters += (int64_t{in} + 1) * net->widths[l];
    }
    parameters += int64_t{p.levels} * (net->layers > 0 ? net->widths[0] : 0);
  }
  must(layers <= kMostRegressorLayers, "the networks have too many layers");
  must(parameters < int64_t{1} << 28, "the networks have too many parameters");
  must(p.mixture.layers > 0 && p.components > 0 && p.targets > 0 &&
           p.mixture.widths[p.mixture.layers - 1] == p.components * (1 + 2 * p.targets),
       "the mixture has not the parameters of its components");
  must(p.rows > 0 && p.most_steps > 0 && (p.has_tilt == 0 || (p.samples > 0 && p.context.layers > 0 && p.tilt.layers > 0)),
       "a step has no rows or draws");
  must(p.activation >= kSilu && p.activation <= kGelu, "the activation is not known");
}

void open(selfnorm_regressor& r) {
  RegressorTask& t = r.task;
  const selfnorm_regressor_plan& p = t.plan;
  place_row(t);
  if (row_memory(t) > r.context.properties.sharedMemPerBlockOptin - 4096)
    throw Failure("the layers, draws or components of the regressor are too many for a multiprocessor, which has " +
                  std::to_string(r.context.properties.sharedMemPerBlockOptin >> 10) + " KiB for a row, and " +
                  std::to_string(row_memory(t) >> 10) + " are needed; take fewer, or train on the CPU");
  const auto n = static_cast<size_t>(t.layout.parameters), rows = static_cast<size_t>(p.rows);
  t.blocks = std::min(p.rows, r.context.properties.multiProcessorCount);
  prepare_rows(t);
  check(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking), "a stream");
  for (float** values : {&t.to.theta, &t.to.turned, &t.to.mean, &t.to.square, &t.to.average, &t.to.gradient}) {
    r.allocate(*values, n, "the parameters of a regressor");
    check(cudaMemsetAsync(*values, 0, n * sizeof(float), r.stream), "the parameters of a regressor");
  }
  r.allocate(t.to.partial, n * static_cast<size_t>(t.blocks), "the gradients of a regressor");
  r.allocate(t.to.squares, static_cast<size_t>(gradient_blocks(t)), "the gradients of a regressor");
  r.allocate(t.to.sums, static_cast<size_t>(t.blocks), "the sums of a regressor");
  r.allocate(t.to.records, static_cast<size_t>(p.most_steps), "the records of a regressor");
  r.allocate(r.at, t.to.at, 1);
  r.allocate(r.numbers, t.to.numbers, rows * static_cast<size_t>(p.numbers));
  r.allocate(r.targets, t.to.targets, rows * static_cast<size_t>(p.targets));
  r.allocate(r.levels, t.to.levels, rows * static_cast<size_t>(p.categorical));
  r.allocate(r.weight, t.to.weight, p.has_weight != 0 ? rows : 0);
  const size_t draws = p.has_tilt != 0 ? rows * static_cast<size_t>(p.samples) : 0;
  r.allocate(r.choice, t.to.choice, draws);
  r.allocate(r.normal, t.to.normal, draws * static_cast<size_t>(p.targets));
  r.pin(r.records, static_cast<size_t>(p.most_steps));
}

cudaGraphExec_t graph_of(selfnorm_regressor& r, int steps) {
  if (const auto found = r.runs.find(steps); found != r.runs.end()) return found->second;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  check(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal), "a graph");
  for (int i = 0; i < steps; ++i) launch_step(r.task, i, r.stream);
  check(cudaStreamEndCapture(r.stream, &graph), "a graph");
  const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "a graph");
  r.runs.emplace(steps, made);
  return made;
}

void run(selfnorm_regressor& r, const selfnorm_regressor_run_of& given) {
  if (given.size != sizeof(selfnorm_regressor_run_of)) throw Failure("a run of a regressor: the caller was built for another version of the module");
  if (given.steps < 1 || given.steps > r.task.plan.most_steps) throw Failure("a run of a regressor has " + std::to_string(given.steps) + " steps");
  const auto steps = static_cast<size_t>(given.steps);
  for (size_t i = 0; i < steps; ++i)
    if (given.at[i].rows < 1 || given.at[i].rows > r.task.plan.rows) throw Failure("a step of a regressor has " + std::to_string(given.at[i].rows) + " rows");
  r.send(r.at, given.at, steps);
  r.send(r.numbers, given.numbers, steps);
  r.send(r.targets, given.targets, steps);
  r.send(r.levels, given.levels, steps);
  r.send(r.weight, given.weight, steps);
  r.send(r.choice, given.choice, steps);
  r.send(r.normal, given.normal, steps);
  check(cudaGraphLaunch(graph_of(r, given.steps), r.stream), "a graph");
  check(cudaMemcpyAsync(r.records, r.task.to.records, steps * sizeof(*r.records), cudaMemcpyDeviceToHost, r.stream), "a copy");
  check(cudaStreamSynchronize(r.stream), "a run of a regressor");
  *given.taken = given.steps;
  for (int i = 0; i < given.steps; ++i) {
    given.records[i] = r.records[i];
    if (given.records[i].event == SELFNORM_STEP_MOVED) continue;
    *given.taken = i + 1;
    return;
  }
}

}  // namespace

extern "C" {

int64_t selfnorm_regressor_parameters(const selfnorm_regressor_plan* plan) { return RegressorLayout(*plan).parameters; }

int selfnorm_regressor_open(selfnorm_cuda_context* context, const selfnorm_regressor_plan* plan, selfnorm_regressor** out) {
  *out = nullptr;
  selfnorm_regressor* made = nullptr;
  const int failed = guarded(context, [&] {
    verify(*plan);
    made = new selfnorm_regressor(*context, *plan);
    open(*made);
  });
  if (failed == 0) *out = made;
  else selfnorm_regressor_close(made);
  return failed;
}

void selfnorm_regressor_close(selfnorm_regressor* r) {
  if (r == nullptr) return;
  cudaSetDevice(r->context.device);
  for (auto& [steps, graph] : r->runs) cudaGraphExecDestroy(graph);
  for (void* memory : r->memory) cudaFree(memory);
  for (void* memory : r->pinned) cudaFreeHost(memory);
  if (r->stream != nullptr) cudaStreamDestroy(r->stream);
  delete r;
}

int selfnorm_regressor_put(selfnorm_regressor* r, const float* theta, const float* average, const float* mean,
                           const float* square) {
  return guarded(&r->context, [&] {
    const RegressorBuffers& to = r->task.to;
    const size_t bytes = static_cast<size_t>(r->task.layout.parameters) * sizeof(float);
    for (const auto& [device, host] : {std::pair{to.theta, theta}, {to.average, average}, {to.mean, mean}, {to.square, square}})
      if (host != nullptr) check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, r->stream), "a copy");
    if (theta != nullptr) launch_turn(r->task, r->stream);
    check(cudaStreamSynchronize(r->stream), "the parameters of a regressor");
  });
}

int selfnorm_regressor_get(selfnorm_regressor* r, float* theta, float* average, float* mean, float* square) {
  return guarded(&r->context, [&] {
    const RegressorBuffers& from = r->task.to;
    const size_t bytes = static_cast<size_t>(r->task.layout.parameters) * sizeof(float);
    for (const auto& [host, device] : {std::pair{theta, from.theta}, {average, from.average}, {mean, from.mean}, {square, from.square}})
      if (host != nullptr) check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, r->stream), "a copy");
    check(cudaStreamSynchronize(r->stream), "the parameters of a regressor");
  });
}

int selfnorm_regressor_run(selfnorm_regressor* r, const selfnorm_regressor_run_of* given) {
  return guarded(&r->context, [&] { run(*r, *given); });
}

int selfnorm_regressor_gradient(selfnorm_regressor* r, float* gradient) {
  return guarded(&r->context, [&] {
    check(cudaMemcpyAsync(gradient, r->task.to.gradient, static_cast<size_t>(r->task.layout.parameters) * sizeof(float), cudaMemcpyDeviceToHost,
                          r->stream),
          "a copy");
    check(cudaStreamSynchronize(r->stream), "the gradient of a regressor");
  });
}

}  // extern "C"
