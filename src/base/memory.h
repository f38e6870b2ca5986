// Sizes that a user's numbers ask for, refused before they are taken: the system grants more than it has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace selfnorm {

// What this process may still take: what the machine has, or less by limits (RLIMIT_AS, control group).
uint64_t memory_limit();

// Throws Error "WHAT need 3.2 GB, but there are 1.0 GB; ADVICE" when bytes exceed memory_limit(). A product
// that may overflow is passed as double.
void require_memory(double bytes, const std::string& what, const std::string& advice);

// Numbers that are seldom looked at, in a nameless file of a folder: no memory of the process. Where there is
// no folder, or it has no room, they are in memory.
class SetAside {
 public:
  explicit SetAside(std::string folder) : folder_(std::move(folder)) {}
  ~SetAside() { forget(); }
  SetAside(const SetAside&) = delete;
  SetAside& operator=(const SetAside&) = delete;

  void put(std::span<const float> values);
  void resize(size_t size);                              // to what is not said
  void write(size_t at, std::span<const float> values);  // in the place of what is there
  void get(std::span<float> values) const;               // as many as there are
  size_t size() const { return size_; }
  std::span<const float> values() const;  // mapped; until they are changed
  // This piece of values() is not needed for now; of other memory: nothing.
  void release(std::span<const std::byte> piece) const;

 private:
  void forget();

  std::string folder_;
  int file_ = -1;
  size_t size_ = 0;
  mutable const float* map_ = nullptr;
  std::vector<float> here_;
};

}  // namespace selfnorm
