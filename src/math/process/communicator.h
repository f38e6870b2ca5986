// What the processes of a job do together. Every process runs the same program on the same data and holds
// all parameters; the units of a loop are shared (math/process/shared_loop.h), and what they made is
// exchanged here. The order of every sum is that of one process, so the bits do not depend on how many there
// are.
//
// All processes make the same calls in the same order. An exchange begins with a header that says which one
// it is and how the sender's work ended: whatever was thrown in one process is thrown in all of them, and
// BrokenJob (math/process/link.h) where the calls differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "math/process/link.h"

namespace selfnorm {

// The units begin .. end - 1 of a loop: those of one process.
struct UnitShare {
  size_t begin, end;
  size_t size() const { return end - begin; }
};

// An array of which process r owns the bytes begin[r] .. begin[r + 1] - 1.
struct SharedArray {
  std::byte* data;
  std::vector<uint64_t> begin;
};

struct Traffic {
  uint64_t bytes = 0;      // sent by this process
  uint64_t exchanges = 0;  // made
  double seconds = 0;      // spent in exchanges: waiting for others, most of it
};

class Communicator {
 public:
  explicit Communicator(Link& link) : link_(link) {}

  int rank() const { return link_.rank(); }
  int size() const { return link_.size(); }
  bool is_first() const { return rank() == 0; }

  // Of so many units, which a process has: as many as the others, or one more. The first unit is the first
  // process's.
  UnitShare share(size_t units, int of) const;
  UnitShare share(size_t units) const { return share(units, rank()); }

  // Runs what this process has to do, then gathers: afterwards everybody has everything.
  // Bytes sent by a process: what it and all but the next one own, in a ring; and a header for each.
  void share_work(const std::function<void()>& own, std::vector<SharedArray> arrays);

  // sum <- (((sum + what process 0 adds) + what process 1 adds) + ...), with the sum of process 0 to begin
  // with: add(begin, end) adds to these elements. In segments, so that all are at work; a process sends
  // the sum at most twice. Nothing may be thrown in `add`.
  template <class Real>
  void fold(std::span<Real> sum, const std::function<void(size_t, size_t)>& add) {
    fold_bytes(std::as_writable_bytes(sum), sizeof(Real), add);
  }

  bool any(bool own);  // whether it is so in one of the processes
  // Throws Error in every process unless the texts are the same; `what` names them in the message.
  void require_same(const std::string& what, const std::string& text);
  std::string from_first(std::string text);  // the text of process 0

  const Traffic& traffic() const { return traffic_; }

 private:
  struct Header;

  void gather(std::span<SharedArray> arrays, const std::exception_ptr& failure);
  void fold_bytes(std::span<std::byte> sum, size_t element, const std::function<void(size_t, size_t)>& add);
  void check(const Header& found, const Header& own, int rank) const;
  [[noreturn]] void throw_together(std::span<const Header> headers, const std::exception_ptr& own);
  uint64_t send(int to, std::span<const std::byte> bytes);
  int next() const { return (rank() + 1) % size(); }
  int previous() const { return (rank() + size() - 1) % size(); }

  Link& link_;
  Traffic traffic_;
};

// That of the job this thread is the main thread of a process in; null where there is one process, and in
// the bodies of parallel loops, which are the work of one.
Communicator* current_communicator();

// While alive: that one.
class CommunicatorScope {
 public:
  explicit CommunicatorScope(Communicator* current);
  ~CommunicatorScope();
  CommunicatorScope(const CommunicatorScope&) = delete;
  CommunicatorScope& operator=(const CommunicatorScope&) = delete;

 private:
  Communicator* before_;
};

// What code says that does not care whether there are others.
bool is_first_process();
bool any_process(bool own);

}  // namespace selfnorm
