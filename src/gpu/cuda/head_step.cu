// A pass over a block of states (gpu/module.h): for each run of rows, three products around one kernel in place,
//     S = H W',   G = dL/dS,   dH = G W,   dW += G' H,
// so that memory is one sheet of rows x classes, of a size that the caller chooses.
#include <algorithm>
#include <cstdio>

#include "gpu/cuda/context.cuh"
#include "gpu/cuda/head_rows.cuh"

namespace selfnorm::gpu {
namespace {

constexpr int64_t kRowUnit = 128;    // rows at once, where they are cut
constexpr int64_t kClassUnit = 128;  // of the sheet's stride

uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Where things are in the workspace.
struct Layout {
  uint64_t coefficient, nll, penalty, slabs, products, sheet;  // bytes from its beginning
  int64_t stride;
  uint64_t row_bytes;

  explicit Layout(const selfnorm_head_step& s) {
    const uint64_t rows = aligned(static_cast<uint64_t>(s.rows) * sizeof(float));
    coefficient = aligned(sizeof(StepScalars));
    nll = coefficient + rows;
    penalty = nll + rows;
    slabs = penalty + rows;
    products = slabs + (s.d_bias != nullptr ? aligned(static_cast<uint64_t>(s.classes) * kBiasSlabs * sizeof(float)) : 0);
    sheet = products + kProductWorkspace;
    stride = ceiling(s.classes, kClassUnit) * kClassUnit;
    row_bytes = static_cast<uint64_t>(stride) * bytes_of(s.sheet_type);
  }
  // Runs of nearly equal length, none of which is above what `bytes` hold.
  int64_t rows_at_once(const selfnorm_head_step& s, uint64_t bytes) const {
    int64_t most = std::min<int64_t>(s.rows, static_cast<int64_t>(bytes / row_bytes));
    if (most >= s.rows || most < 1) return most;
    if (most >= kRowUnit) most = most / kRowUnit * kRowUnit;
    const int64_t even = ceiling(s.rows, ceiling(s.rows, most));
    return most >= kRowUnit ? std::min(most, ceiling(even, kRowUnit) * kRowUnit) : even;
  }
};

bool has_gradient(const selfnorm_head_step& s) {
  return s.d_states != nullptr || s.d_weight != nullptr || s.d_bias != nullptr;
}

// Whether its sheet has exact scores after the kernel of the rows, too.
bool shows_scores(const selfnorm_head_step& s) {
  return s.sheet_type == SELFNORM_F32 && s.moments != nullptr && !has_gradient(s) && s.selected == nullptr;
}

void verify(const selfnorm_head_step& s) {
  const auto must = [](bool holds, const char* what) {
    if (!holds) throw Failure(std::string("a step of a head: ") + what);
  };
  must(s.size == sizeof(selfnorm_head_step), "the caller was built for another version of the module");
  must(s.rows > 0 && s.dim > 0 && s.classes > 0, "found no rows, columns or classes; expected at least one of each");
  must(s.classes <= (1 << 30), "found more than 2^30 classes; cut them into shards");
  must(s.type >= SELFNORM_F32 && s.type <= SELFNORM_BF16, "found an unknown type of numbers");
  must(s.sheet_type == s.type || s.sheet_type == SELFNORM_F32, "the sheet has the type of the head or float32");
  must(s.state_stride >= s.dim && s.weight_stride >= s.dim, "a stride is below the number of columns");
  must(s.states != nullptr && s.weight != nullptr && s.workspace != nullptr, "states, weight or workspace are missing");
  must(!has_gradient(s) || (s.sheet_type == s.type && s.parts <= 1), "gradients need a sheet of the head's type and whole states");
  must(s.selected == nullptr || (s.picks > 0 && s.selected_log_p != nullptr), "selected classes need a place for their log-probabilities");
  must(s.selected == nullptr || s.target == nullptr, "targets and selected classes exclude each other");
  must(!has_gradient(s) || s.selected == nullptr || s.selected_gradient != nullptr, "gradients of selected classes need theirs");
  must(s.loss == nullptr || s.target != nullptr, "a loss needs targets");
  must(s.options.label_smoothing >= 0 && s.options.label_smoothing < 1, "label smoothing is outside [0, 1)");
  must(s.options.softcap >= 0, "the softcap is negative");
}

class HeadStep {
 public:
  HeadStep(selfnorm_cuda_context& context, const selfnorm_head_step& step)
      : context_(context), s_(step), layout_(step), stream_(static_cast<cudaStream_t>(step.stream)) {
    const uint64_t room = s_.workspace_bytes > layout_.sheet ? s_.workspace_bytes - layout_.sheet : 0;
    rows_ = layout_.rows_at_once(s_, room);
    if (rows_ >= 1) return;
    char text[160];
    std::snprintf(text, sizeof(text), "the workspace has %.1f MiB; this step needs at least %.1f MiB",
                  static_cast<double>(s_.workspace_bytes) / (1 << 20),
                  static_cast<double>(layout_.sheet + layout_.row_bytes) / (1 << 20));
    throw Failure(text);
  }

  void prepare() {
    prepare_rows(s_, scalars(), place<float>(layout_.coefficient), stream_);
    if (s_.target != nullptr || s_.selected != nullptr) keep_status();
  }

  void run() {
    prepare();
    for (int64_t first = 0; first < s_.rows; first += rows_) chunk(first, std::min(rows_, s_.rows - first));
    if (s_.loss != nullptr) sum_loss(s_, scalars(), nll(), penalty(), stream_);
  }

  void masses(const MassTask& of) {
    prepare();
    for (int64_t first = 0; first < s_.rows; first += rows_) {
      const int64_t rows = std::min(rows_, s_.rows - first);
      chunk(first, rows);
      masses_of_rows(task(first, rows), of, stream_);
    }
  }

  // Of p, this one, and q.
  void difference(HeadStep& q, double visible, double* out) {
    prepare();
    q.prepare();
    const int64_t some = std::min(rows_, q.rows_);
    for (int64_t first = 0; first < s_.rows; first += some) {
      const int64_t rows = std::min(some, s_.rows - first);
      chunk(first, rows);
      q.chunk(first, rows);
      difference_of_rows(task(first, rows), q.task(first, rows), visible, out, stream_);
    }
  }

 private:
  template <class T>
  T* place(uint64_t at) const {
    return reinterpret_cast<T*>(static_cast<char*>(s_.workspace) + at);
  }
  StepScalars* scalars() const { return place<StepScalars>(0); }
  float* nll() const { return s_.nll != nullptr ? s_.nll : place<float>(layout_.nll); }
  float* penalty() const { return s_.row_penalty != nullptr ? s_.row_penalty : place<float>(layout_.penalty); }

  // To where the host can see it; the event is waited for by selfnorm_head_status alone.
  void keep_status() {
    cudaStreamCaptureStatus capture;
    check(cudaStreamIsCapturing(stream_, &capture), "the stream");
    if (capture != cudaStreamCaptureStatusNone) return;
    check(cudaMemcpyAsync(context_.status, &scalars()->wrong_row, 2 * sizeof(int64_t), cudaMemcpyDeviceToHost, stream_),
          "the check of the targets");
    check(cudaEventRecord(context_.checked, stream_), "the check of the targets");
  }

  RowTask task(int64_t first, int64_t rows) const {
    const selfnorm_head_options& o = s_.options;
    const int64_t all = o.all_classes > 0 ? o.all_classes : s_.classes;
    RowTask t = {};
    t.sheet = place<void>(layout_.sheet);
    t.stride = layout_.stride;
    t.first = first;
    t.rows = rows;
    t.classes = static_cast<int32_t>(s_.classes);
    t.bias = s_.bias;
    t.carrier = s_.carrier;
    t.scale = o.logit_scale;
    t.cap = o.softcap;
    t.loss = {o.label_smoothing, o.penalty, o.center, static_cast<float>(all)};
    t.first_class = o.first_class;
    t.ignore_index = o.ignore_index;
    t.target = s_.target;
    t.selected = s_.selected;
    t.picks = s_.picks;
    t.selected_gradient = s_.selected_gradient;
    t.given_log_z = s_.given_log_z;
    t.coefficient = place<float>(layout_.coefficient);
    t.log_z = s_.log_z;
    t.target_score = s_.target_score;
    t.nll = s_.target != nullptr ? nll() : nullptr;
    t.penalty = s_.target != nullptr ? penalty() : nullptr;
    t.entropy = s_.entropy;
    t.expected = s_.expected;
    t.selected_log_p = s_.selected_log_p;
    t.best = s_.best;
    t.better = s_.target != nullptr ? s_.better : nullptr;
    t.moments = s_.moments;
    t.has_gradient = has_gradient(s_);
    return t;
  }

  const char* at(const void* base, int64_t elements, int type) const {
    return static_cast<const char*>(base) + static_cast<uint64_t>(elements) * bytes_of(type);
  }

  void chunk(int64_t first, int64_t rows) {
    void* const sheet = place<void>(layout_.sheet);
    void* const room = place<void>(layout_.products);
    const float *one = &scalars()->one, *zero = &scalars()->zero, *scale = &scalars()->scale;
    const int64_t k = s_.classes, d = s_.dim;
    for (int64_t part = 0; part < std::max<int64_t>(1, s_.parts); ++part) {
      const void* const h = at(s_.states, (part * s_.rows + first) * s_.state_stride, s_.type);
      context_.run({s_.type, s_.sheet_type, true, false, k, rows, d, s_.weight_stride, s_.state_stride, layout_.stride,
                    kProductWorkspace},
                   {s_.weight, h, sheet, one, part == 0 ? zero : one, room}, stream_);
    }
    const RowTask rows_task = task(first, rows);
    run_rows(rows_task, s_.sheet_type, context_.properties.major, stream_);
    if (s_.d_states != nullptr) {
      void* const out = const_cast<char*>(at(s_.d_states, first * d, s_.d_states_type));
      context_.run({s_.type, s_.d_states_type, false, false, d, rows, k, s_.weight_stride, layout_.stride, d, kProductWorkspace},
                   {s_.weight, sheet, out, scale, zero, room}, stream_);
    }
    const bool is_added = first > 0 || s_.is_added != 0;
    if (s_.d_weight != nullptr) {
      const void* const h = at(s_.states, first * s_.state_stride, s_.type);
      context_.run({s_.type, s_.d_weight_type, false, true, d, k, rows, s_.state_stride, layout_.stride, d, kProductWorkspace},
                   {h, sheet, s_.d_weight, scale, is_added ? one : zero, room}, stream_);
    }
    if (s_.d_bias != nullptr)
      sum_columns(rows_task, s_.sheet_type, scalars(), place<float>(layout_.slabs), s_.d_bias, is_added, stream_);
  }

  selfnorm_cuda_context& context_;
  const selfnorm_head_step& s_;
  Layout layout_;
  cudaStream_t stream_;
  int64_t rows_ = 0;
};

}  // namespace
}  // namespace selfnorm::gpu

using namespace selfnorm::gpu;

extern "C" {

uint64_t selfnorm_head_workspace(const selfnorm_head_step* step, uint64_t budget) {
  const Layout layout(*step);
  const int64_t rows = std::max<int64_t>(1, layout.rows_at_once(*step, budget));
  return layout.sheet + static_cast<uint64_t>(rows) * layout.row_bytes;
}

int selfnorm_head_run(selfnorm_cuda_context* context, const selfnorm_head_step* step) {
  return guarded(context, [&] {
    verify(*step);
    HeadStep(*context, *step).run();
  });
}

int selfnorm_head_difference(selfnorm_cuda_context* context, const selfnorm_head_step* p, const selfnorm_head_step* q,
                             double visible, double* out) {
  return guarded(context, [&] {
    verify(*p);
    verify(*q);
    if (p->rows != q->rows || p->classes != q->classes || p->stream != q->stream || !shows_scores(*p) || !shows_scores(*q))
      throw Failure("two heads can be compared on the same rows and classes, with float32 sheets and moments");
    HeadStep second(*context, *q);
    HeadStep(*context, *p).difference(second, visible, out);
  });
}

int selfnorm_head_masses(selfnorm_cuda_context* context, const selfnorm_head_step* step, const uint32_t* order,
                         const uint32_t* begin, int64_t clusters, float* masses, double* shares) {
  return guarded(context, [&] {
    verify(*step);
    if (!shows_scores(*step)) throw Failure("masses of clusters need a float32 sheet and moments");
    if (masses != nullptr && (order == nullptr || begin == nullptr || clusters < 1)) throw Failure("masses need clusters");
    HeadStep(*context, *step).masses({order, begin, clusters, masses, shares});
  });
}

int selfnorm_head_status(selfnorm_cuda_context* context, const selfnorm_head_step* step) {
  return guarded(context, [&] {
    check(cudaEventSynchronize(context->checked), "the check of the targets");
    if (context->status[0] < 0) return;
    const int64_t all = step->options.all_classes > 0 ? step->options.all_classes : step->classes;
    throw Failure("row " + std::to_string(context->status[0]) + " (counted from 0): " +
                  (step->target != nullptr ? "the target is " + std::to_string(context->status[1])
                                           : std::string("a selected class is out of range")) +
                  "; expected a class in 0.." + std::to_string(all - 1) +
                  (step->target != nullptr ? ", or " + std::to_string(step->options.ignore_index) + " to ignore it" : ""));
  });
}

}  // extern "C"
