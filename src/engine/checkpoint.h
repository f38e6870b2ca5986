// The state of a run between two steps, as one safetensors file: named vectors and named texts. Doubles
// survive exactly (hexadecimal in texts), so a resumed run has the same bits as an uninterrupted one.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "data/dataset.h"
#include "data/sentences/sequences.h"
#include "model/class_shard.h"
#include "optim/adaptive.h"

namespace selfnorm {

class Checkpoint {
 public:
  void set(const std::string& name, const std::string& text) { text_[name] = text; }
  void set(const std::string& name, uint64_t value);
  void set(const std::string& name, double value);
  // Floats are parameters: kept by reference until save(), so that a checkpoint costs no memory.
  void set(const std::string& name, const std::vector<float>& values) { views_[name] = values; }
  void set(const std::string& name, std::vector<float>&& values) = delete;
  void set(const std::string& name, const std::vector<double>& values);
  void keep(const std::string& name, std::vector<float> values) {
    views_[name] = floats_[name] = std::move(values);
  }
  void keep(const std::string& name, const std::vector<double>& values) { set(name, values); }

  // Each throws Error when the checkpoint lacks the name or holds something else there. Vectors are as long
  // as `values`, unless that is empty; or, where `size` is given, as that, or empty.
  const std::string& text(const std::string& name) const;
  uint64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  void get(const std::string& name, std::vector<float>& values) const;
  void get(const std::string& name, std::vector<double>& values) const;
  template <class Real>
  void get(const std::string& name, std::vector<Real>& values, size_t size) const {
    values.clear();
    get(name, values);
    if (!values.empty()) check_size(name, values.size(), size);
  }

  // The file appears whole or not at all.
  void save(const std::string& path) const;
  static Checkpoint load(const std::string& path);

 private:
  static void check_size(const std::string& name, size_t found, size_t expected);

  std::map<std::string, std::string> text_;
  std::map<std::string, std::span<const float>> views_;  // what was set
  std::map<std::string, std::vector<float>> floats_;     // what was loaded, or kept
  std::map<std::string, std::vector<double>> doubles_;
};

// `size` values of a process, of which every class has `each`; 0: all processes have the same.
struct SplitPart {
  size_t size, each;
};

// The state of something, every part of it named once: put into a checkpoint, or taken from one. What is put
// has to stay where it is until the checkpoint is saved.
class CheckpointFields {
 public:
  explicit CheckpointFields(Checkpoint& to) : to_(&to), from_(to) {}
  explicit CheckpointFields(const Checkpoint& from) : from_(from) {}

  bool reads() const { return to_ == nullptr; }
  const Checkpoint& from() const { return from_; }

  template <class T>
  void operator()(const std::string& name, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      uint64_t number = value ? 1 : 0;
      (*this)(name, number);
      value = number != 0;
    } else if (!reads()) {
      to_->set(name, value);
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      value = from_.integer(name);
    } else if constexpr (std::is_same_v<T, double>) {
      value = from_.number(name);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = from_.text(name);
    } else {
      from_.get(name, value);
    }
  }
  // Vectors of `size`, or empty.
  template <class Real>
  void operator()(const std::string& name, std::vector<Real>& values, size_t size) {
    reads() ? from_.get(name, values, size) : to_->set(name, values);
  }
  // What every class has `each` of, where a process has its own classes only: all of it is in the checkpoint,
  // which is that of any number of processes. They do this together; the first one keeps it.
  template <class Real>
  void split(const std::string& name, std::vector<Real>& own, size_t each, const ClassShard& shard) {
    split_with(
        name, own, shard, shard.classes() * each, [&] { return shard.gathered(own, each); },
        [&](const std::vector<Real>& all) { return shard.part_of(all, each); });
  }
  // Parts one after the other, some of which are split.
  template <class Real>
  void split_parts(const std::string& name, std::vector<Real>& own, const std::vector<SplitPart>& parts,
                   const ClassShard& shard) {
    size_t whole = 0;
    for (const SplitPart& part : parts) whole += part.each > 0 ? shard.classes() * part.each : part.size;
    const auto each_part = [&](const std::vector<Real>& from, bool is_all, const auto& changed) {
      std::vector<Real> out;
      auto place = from.begin();
      for (const SplitPart& part : parts) {
        const size_t size = is_all && part.each > 0 ? shard.classes() * part.each : part.size;
        const std::vector<Real> values(place, place + static_cast<std::ptrdiff_t>(size));
        place += static_cast<std::ptrdiff_t>(size);
        const std::vector<Real> to = part.each > 0 ? changed(values, part.each) : values;
        out.insert(out.end(), to.begin(), to.end());
      }
      return out;
    };
    split_with(
        name, own, shard, whole,
        [&] {
          return each_part(own, false,
                           [&](const auto& values, size_t each) { return shard.gathered(values, each); });
        },
        [&](const std::vector<Real>& all) {
          return each_part(all, true,
                           [&](const auto& values, size_t each) { return shard.part_of(values, each); });
        });
  }
  // A matrix with a column for every class, and values after it that all have.
  template <class Real>
  void split_columns(const std::string& name, std::vector<Real>& own, size_t rows, const ClassShard& shard) {
    split_with(
        name, own, shard, own.size() + rows * (shard.classes() - shard.own().size()),
        [&] { return shard.gathered_columns(own, rows); },
        [&](const std::vector<Real>& all) { return shard.part_of_columns(all, rows); });
  }
  template <class Real>
  void operator()(const std::string& name, Adaptive<Real>& optimiser) {
    (*this)(name + ".step", optimiser.state().step);
    (*this)(name + ".square", optimiser.state().square);
    (*this)(name + ".mean", optimiser.state().mean);
  }

 private:
  template <class Real, class Gather, class Part>
  void split_with(const std::string& name, std::vector<Real>& own, const ClassShard& shard, size_t whole,
                  const Gather& gather, const Part& part) {
    if (!shard.exists() || shard.is_whole()) return (*this)(name, own);
    const bool exists = any_process(!own.empty());
    if (reads()) {
      std::vector<Real> all(exists ? whole : 0);
      from_.get(name, all);
      own = exists ? part(all) : all;
    } else {
      std::vector<Real> all = exists ? gather() : own;
      if (is_first_process()) to_->keep(name, std::move(all));
    }
  }

  Checkpoint* to_ = nullptr;
  const Checkpoint& from_;
};

// A hash of everything the result depends on, whatever is trained: the rows that are trained on, those that
// are held out, and every option that shapes the result. A checkpoint of others must not be continued.
// FNV-1a over 8-byte words: fast enough to hash the data at memory speed.
class Fingerprint {
 public:
  template <class T>
  Fingerprint& add(std::span<const T> values) {
    return add_bytes(values.data(), values.size_bytes());
  }
  template <class T>
  Fingerprint& add(const std::vector<T>& values) {
    return add(std::span<const T>(values));
  }
  // The same for an array in a file, whose pages are given back.
  template <class T>
  Fingerprint& add(const StoredArray<T>& values) {
    mix(values.size() * sizeof(T));
    for_each_piece(values, [this](std::span<const T> piece) { add_words(piece.data(), piece.size_bytes()); });
    if (values.size() * sizeof(T) % 8 == 0) mix(0);
    return *this;
  }
  Fingerprint& add(const std::string& text) { return add_bytes(text.data(), text.size()); }
  Fingerprint& add_bytes(const void* data, size_t size);
  Fingerprint& add_file(const std::string& path);  // what is in it; nothing when it cannot be read
  std::string text() const;

 private:
  void add_words(const void* data, size_t size);  // what is left of the last is mixed too
  void mix(uint64_t word) {
    state_ = (state_ ^ word) * 0x100000001B3u;
    state_ ^= state_ >> 29;
  }
  uint64_t state_ = 0xCBF29CE484222325u;
};

std::string fingerprint(const Dataset& data, const std::string& options);
std::string fingerprint(const Sequences& data, const std::string& options);

}  // namespace selfnorm
