// The state of a run between two steps, as one safetensors file: named vectors and named texts. Doubles
// survive exactly (hexadecimal in texts), so a resumed run has the same bits as an uninterrupted one.
//
// Where classes are split over processes (model/class_shard.h), each writes what it has of their arrays,
//     checkpoint-G-00002-of-00004.safetensors
// of generation G, and the checkpoint itself, which the first process writes when all parts are on disk,
// names the generation and the checksums of its parts. The parts before go after that: at any moment there is
// a whole generation, or none. Any number of processes reads it, each what its own classes need.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.h"
#include "data/dataset.h"
#include "data/sentences/sequences.h"
#include "model/class_shard.h"
#include "model/safetensors_writer.h"
#include "optim/adaptive.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/safetensors.h"

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

  // Of an array that is split: of `rows` rows, `each` numbers of every own class, and behind them what all
  // have. What is set is kept by reference; `release` is told of pieces that were written.
  struct SplitShape {
    size_t rows = 1, each = 1;
  };
  template <class Real>
  void set_split(const std::string& name, std::span<const Real> own, const ClassShard& shard,
                 runtime::BytesRead release = {}) {
    split_.push_back(make_tensor<Real>(
        name, sizeof(Real) == sizeof(float) ? runtime::Dtype::F32 : runtime::Dtype::F64, {own.size()}, own));
    classes_ = shard.own();
    if (release) release_.push_back(std::move(release));
  }
  // room(how many numbers the own ones are; 0: the array is empty), then take(at, values): those from place
  // `at` on.
  template <class Real>
  void get_split(const std::string& name, const ClassShard& shard, SplitShape shape,
                 const std::function<void(size_t size)>& room,
                 const std::function<void(size_t at, std::span<const Real>)>& take) const;
  bool is_split() const { return !split_.empty(); }

  // The file appears whole or not at all.
  void save(const std::string& path) const;
  // Before that, of what is split: by all processes together, as a generation that is none before. Throws
  // Error in all of them when one cannot write its part.
  void save_parts(const std::string& path, uint64_t generation);
  static Checkpoint load(const std::string& path);

 private:
  struct Part {
    std::string path;
    runtime::MappedFile file;
    runtime::Safetensors content;
    Range classes;
    mutable bool is_verified = false;
  };

  static void check_size(const std::string& name, size_t found, size_t expected);
  void load_parts(const std::string& path);
  const runtime::Tensor& part_tensor(const Part& part, const std::string& name) const;

  std::map<std::string, std::string> text_;
  std::map<std::string, std::span<const float>> views_;  // what was set
  std::map<std::string, std::vector<float>> floats_;     // what was loaded
  std::map<std::string, std::vector<double>> doubles_;
  std::vector<runtime::Tensor> split_;  // own parts, to be written
  Range classes_;                       // which they are of
  std::vector<runtime::BytesRead> release_;
  std::vector<Part> parts_;  // to be read
};

// Of the folder of a checkpoint: a generation that none of its files has; and without the parts that no
// checkpoint there names.
uint64_t next_checkpoint_generation(const std::string& path);
void remove_checkpoint_parts(const std::string& path);

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
  // An array of which a process has the part of its own classes.
  template <class Real>
  void split(const std::string& name, std::vector<Real>& own, const ClassShard& shard,
             Checkpoint::SplitShape shape) {
    if (!shard.exists()) return (*this)(name, own);
    if (!reads()) return to_->set_split(name, std::span<const Real>(own), shard);
    from_.get_split<Real>(
        name, shard, shape, [&](size_t size) { own.resize(size); },
        [&](size_t at, std::span<const Real> values) {
          std::ranges::copy(values, own.begin() + static_cast<std::ptrdiff_t>(at));
        });
  }
  void split(const std::string& name, SetAside& own, const ClassShard& shard, size_t each) {
    if (!reads())
      return to_->set_split(name, own.values(), shard,
                            [&own](std::span<const std::byte> piece) { own.release(piece); });
    from_.get_split<float>(
        name, shard, {.each = each}, [&](size_t size) { own.resize(size); },
        [&](size_t at, std::span<const float> values) { own.write(at, values); });
  }
  template <class Real>
  void operator()(const std::string& name, Adaptive<Real>& optimiser) {
    (*this)(name + ".step", optimiser.state().step);
    (*this)(name + ".square", optimiser.state().square);
    (*this)(name + ".mean", optimiser.state().mean);
  }

 private:
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
