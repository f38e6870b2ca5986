#include "math/process/communicator.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/failure.h"
#include "base/interruption.h"
#include "math/process/link.h"

namespace selfnorm {
namespace {

constexpr size_t kLeastSegment = 1u << 14, kMostSegment = 1u << 18;  // bytes of a fold that travel together
constexpr size_t kSegments = 8;  // of a short one, so that the next process begins before this one ends

thread_local Communicator* current = nullptr;

enum class Failure : uint64_t { none, interrupted, error, no_memory, other };

Failure kind_of(const std::exception_ptr& failure) {
  if (!failure) return Failure::none;
  try {
    std::rethrow_exception(failure);
  } catch (const Interrupted&) {
    return Failure::interrupted;
  } catch (const Error&) {
    return Failure::error;
  } catch (const std::bad_alloc&) {
    return Failure::no_memory;
  } catch (...) {
    return Failure::other;
  }
}

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown";
  }
}

// Adds the time it lives to `seconds`.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

struct Communicator::Header {
  uint64_t exchange;  // which one, counted from 0
  uint64_t bytes;     // of all its arrays
  Failure failure;
};

UnitShare Communicator::share(size_t units, int of) const {
  const auto n = static_cast<size_t>(size()), r = static_cast<size_t>(of);
  return {(units * r + n - 1) / n, (units * (r + 1) + n - 1) / n};
}

uint64_t Communicator::send(int to, std::span<const std::byte> bytes) {
  traffic_.bytes += bytes.size();
  return link_.send(to, bytes);
}

void Communicator::share_work(const std::function<void()>& own, std::vector<SharedArray> arrays) {
  std::exception_ptr failure;
  try {
    const CommunicatorScope alone(nullptr);
    const InterruptionScope stoppable(Interruptions::thrown);
    own();
  } catch (...) {
    failure = std::current_exception();
  }
  gather(arrays, failure);
}

// In step k a process passes on what the process k places before it owns. A header goes first, so that
// nothing is received into memory of another size.
void Communicator::gather(std::span<SharedArray> arrays, const std::exception_ptr& failure) {
  const Stopwatch watch(traffic_.seconds);
  Header own{traffic_.exchanges++, 0, kind_of(failure)};
  for (const SharedArray& array : arrays) own.bytes += array.begin.back();
  thread_local std::vector<Header> headers;  // is there while it is sent, whatever is thrown
  headers.assign(static_cast<size_t>(size()), {});
  headers[static_cast<size_t>(rank())] = own;
  const auto slice = [&](const SharedArray& array, int of) {
    const uint64_t begin = array.begin[static_cast<size_t>(of)];
    return std::span(array.data + begin, array.begin[static_cast<size_t>(of) + 1] - begin);
  };
  std::vector<uint64_t> requests;
  for (int k = 0; k + 1 < size(); ++k) {
    const int out = (rank() + size() - k) % size(), in = (rank() + size() - k - 1) % size();
    requests.clear();
    requests.push_back(send(next(), std::as_bytes(std::span(&headers[static_cast<size_t>(out)], 1))));
    Header& header = headers[static_cast<size_t>(in)];
    link_.wait(link_.receive(previous(), std::as_writable_bytes(std::span(&header, 1))));
    check(header, own, in);
    for (const SharedArray& array : arrays) {
      if (const auto bytes = slice(array, in); !bytes.empty())
        requests.push_back(link_.receive(previous(), bytes));
      if (const auto bytes = slice(array, out); !bytes.empty()) requests.push_back(send(next(), bytes));
    }
    for (const uint64_t request : requests) link_.wait(request);
  }
  for (const Header& header : headers)
    if (header.failure != Failure::none) throw_together(headers, failure);
}

void Communicator::check(const Header& found, const Header& own, int rank) const {
  if (found.exchange == own.exchange && found.bytes == own.bytes) return;
  throw BrokenJob{fmt::format(
      "the processes are out of step: process {} is at exchange {} of {} bytes, process {} at exchange {} of "
      "{} bytes; expected the same program, data and options everywhere",
      rank, found.exchange, found.bytes, this->rank(), own.exchange, own.bytes)};
}

// The first error, or else the interruption. All processes know the headers, and so who speaks.
void Communicator::throw_together(std::span<const Header> headers, const std::exception_ptr& own) {
  int who = 0;
  const auto failure = [&](int of) { return headers[static_cast<size_t>(of)].failure; };
  const auto is_error = [&](int of) {
    return failure(of) != Failure::none && failure(of) != Failure::interrupted;
  };
  while (who < size() && !is_error(who)) ++who;
  if (who == size()) throw Interrupted{};
  // Of a text of which only one process knows the length.
  std::string text = who == rank() ? text_of(own) : "";
  uint64_t length = text.size();
  const auto pass = [&](std::span<std::byte> bytes) {
    if (rank() != who) link_.wait(link_.receive(previous(), bytes));
    if (next() != who) link_.wait(send(next(), bytes));
  };
  pass(std::as_writable_bytes(std::span(&length, 1)));
  text.resize(length);
  if (length > 0) pass(std::as_writable_bytes(std::span(text)));
  if (who == rank()) std::rethrow_exception(own);
  if (failure(who) == Failure::error) throw Error(text);
  if (failure(who) == Failure::no_memory) throw_error("process {} has not enough memory", who);
  throw_error("process {}: {}", who, text);
}

// Sums go from process 0 to the last one and come back, segment after segment.
void Communicator::fold_bytes(std::span<std::byte> sum, size_t element,
                              const std::function<void(size_t, size_t)>& add) {
  const size_t about = std::clamp(sum.size() / kSegments, kLeastSegment, kMostSegment);
  const size_t whole = std::max<size_t>(1, about / element) * element;
  const size_t segments = (sum.size() + whole - 1) / whole;
  const auto segment = [&](size_t s) {
    return sum.subspan(s * whole, std::min(whole, sum.size() - s * whole));
  };
  const bool is_last = rank() + 1 == size();
  double waited = 0;
  const auto wait = [&](uint64_t request) {
    const Stopwatch watch(waited);
    link_.wait(request);
  };
  std::vector<uint64_t> in(segments), out(segments);
  for (size_t s = 0; !is_first() && s < segments; ++s) in[s] = link_.receive(previous(), segment(s));
  for (size_t s = 0; s < segments; ++s) {
    if (!is_first()) wait(in[s]);
    const size_t begin = s * whole / element;
    add(begin, begin + segment(s).size() / element);
    if (!is_last) out[s] = send(next(), segment(s));
  }
  for (size_t s = 0; !is_last && s < segments; ++s) {
    wait(out[s]);
    in[s] = link_.receive(next(), segment(s));
  }
  for (size_t s = 0; s < segments; ++s) {
    if (!is_last) wait(in[s]);
    if (!is_first()) out[s] = send(previous(), segment(s));
  }
  for (size_t s = 0; !is_first() && s < segments; ++s) wait(out[s]);
  ++traffic_.exchanges;
  traffic_.seconds += waited;
}

bool Communicator::any(bool own) {
  std::vector<std::byte> flags(static_cast<size_t>(size()));
  flags[static_cast<size_t>(rank())] = std::byte{own};
  SharedArray array{flags.data(), {}};
  for (uint64_t r = 0; r <= flags.size(); ++r) array.begin.push_back(r);
  gather(std::span(&array, 1), nullptr);
  return std::any_of(flags.begin(), flags.end(), [](std::byte b) { return b != std::byte{0}; });
}

void Communicator::require_same(const std::string& what, const std::string& text) {
  const std::string first = from_first(text);
  if (!any(text != first)) return;
  throw_error(
      "the processes differ in {}; expected the same in all {}: run the same program on the same data", what,
      size());
}

std::string Communicator::from_first(std::string text) {
  uint64_t length = text.size();
  const auto array = [&](void* data, uint64_t bytes) {
    SharedArray out{static_cast<std::byte*>(data), {0}};
    out.begin.resize(static_cast<size_t>(size()) + 1, bytes);  // all of it the first's
    return out;
  };
  SharedArray one = array(&length, sizeof(length));
  gather(std::span(&one, 1), nullptr);
  text.resize(length);
  SharedArray all = array(text.data(), length);
  gather(std::span(&all, 1), nullptr);
  return text;
}

Communicator* current_communicator() { return current; }

CommunicatorScope::CommunicatorScope(Communicator* now) : before_(current) { current = now; }
CommunicatorScope::~CommunicatorScope() { current = before_; }

bool is_first_process() { return current == nullptr || current->is_first(); }
bool any_process(bool own) { return current == nullptr ? own : current->any(own); }

}  // namespace selfnorm
