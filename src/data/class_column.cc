#include "class_column.h"

#include <fmt/format.h>

#include <charconv>

#include "matrix.h"
#include "quote.h"
#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

void note_unseen(uint32_t target, const std::string& label, uint64_t row, UnseenLabels& unseen) {
  if (target != Dataset::kUnseenTarget) return;
  if (unseen.examples++ == 0) unseen = {1, row, label};
}

}  // namespace

ClassColumn::ClassColumn(std::string name, const StatesOptions& options) : name_(std::move(name)) {
  keeps_unseen_ = options.unseen != nullptr;
  if (options.schema && !options.schema->labels.empty()) {
    known_.emplace(options.schema->labels);
  } else if (options.classes > 0) {
    classes_ = options.classes;
  }
}

ClassColumn ClassColumn::from_array(ArrayView labels, const StatesOptions& options) {
  ClassColumn column(labels.place, options);
  column.size_ = labels.bytes.size() / labels.type.size;
  if (labels.fortran_order && labels.shape.size() > 1)
    throw DataError(labels.place, 0, "found labels in Fortran order, expected C order");
  column.array_ = std::move(labels);
  for (uint64_t row = 0; options.unseen && row < column.size_; ++row)
    note_unseen(column[row], column.array_label(row), row, *options.unseen);
  column.release(0, options.unseen ? column.size_ : 0);
  return column;
}

ClassColumn ClassColumn::from_file(const std::string& path, const StatesOptions& options) {
  if (is_array_file(path)) {
    const ArrayFile file(path);
    if (file.format() != ArrayFormat::npy)
      throw DataError(path, 0, "found an archive of arrays, expected labels in an npy file or a text file");
    return from_array(file.view(file.entries().front()), options);
  }
  ClassColumn column(path, options);
  uint64_t row = 0;
  for (const std::string& label : read_label_file(path)) {
    column.numbers_.push_back(column.number(label, row));
    if (options.unseen) note_unseen(column.numbers_.back(), label, row, *options.unseen);
    ++row;
  }
  column.size_ = column.numbers_.size();
  return column;
}

uint32_t ClassColumn::operator[](uint64_t row) const {
  SELFNORM_CHECK(row < size_);
  if (!numbers_.empty()) return numbers_[row];
  return number(array_label(row), row);
}

std::string ClassColumn::array_label(uint64_t row) const {
  return label_text(array_.type, array_.bytes.data() + row * array_.type.size);
}

uint32_t ClassColumn::number(const std::string& label, uint64_t row) const {
  const auto fail = [&](const std::string& what) -> uint32_t {
    throw DataError(name_, row + 1, fmt::format("row {}: {}", row + 1, what));
  };
  if (label.empty()) return fail("found an empty label, or NaN");
  if (known_) {
    const auto found = known_->find(label);
    return found ? *found : keeps_unseen_ ? Dataset::kUnseenTarget : fail(known_->unseen(label));
  }
  const std::string_view key = label_key(label);
  uint32_t value = 0;
  const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), value);
  if (code != std::errc() || end != key.data() + key.size() || value >= classes_)
    return fail(
        fmt::format("found label {}, expected a class number, 0 to {}", quoted_text(label), classes_ - 1));
  return value;
}

}  // namespace selfnorm
