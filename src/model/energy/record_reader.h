// Settings and tensors of a record (model/energy/energy.h) by name, checked; errors name the network.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/energy/energy.h"

namespace selfnorm {

class RecordReader {
 public:
  // `what` names the network in errors. The record has to outlive this. Everything throws Error.
  RecordReader(const EnergyRecord& record, std::string what, const std::string& kind);
  ~RecordReader();

  [[noreturn]] void fail(const std::string& why) const;

  double number(const char* name) const;
  bool flag(const char* name) const;
  std::string word(const char* name) const;
  // Whole numbers in [least, most].
  uint32_t whole_number(const char* name, uint32_t least, uint32_t most) const;
  std::vector<uint32_t> whole_numbers(const char* name, uint32_t least, uint32_t most) const;

  // Of all tensors; to be called before memory is taken for them, since a size may be damaged.
  void expect_values(size_t expected) const;
  // Finite numbers in exactly this shape.
  void read(const std::string& name, const std::vector<uint64_t>& shape, std::span<float> out) const;

 private:
  struct Settings;
  uint32_t checked(const char* name, double value, uint32_t least, uint32_t most) const;

  const EnergyRecord& record_;
  std::string what_;
  std::unique_ptr<const Settings> settings_;
};

}  // namespace selfnorm
