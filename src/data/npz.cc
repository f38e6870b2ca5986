#include <fmt/format.h>

#include <algorithm>

#include "matrix.h"
#include "npy.h"
#include "quote.h"
#include "selfnorm/base/error.h"
#include "zip.h"

namespace selfnorm {
namespace {

class Archive {
 public:
  explicit Archive(Input& input) : input_(input), zip_(input.name(), input.storage()) {}

  const ZipMember* find(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      for (const ZipMember& member : zip_.members())
        if (member.name == std::string(name) + ".npy") return &member;
    return nullptr;
  }

  // use(Array) while the member is open.
  template <class Use>
  auto with(const ZipMember& member, Use use) const {
    auto source = zip_.open(member);
    return use(open_npy(fmt::format("{} {}", input_.name(), quoted(member.name)), *source));
  }

  template <class Use>
  auto with(const char* name, Use use) const {
    const ZipMember* member = find({name});
    if (!member) fail(fmt::format("found no array '{}' of a CSR matrix", name));
    return with(*member, use);
  }

  [[noreturn]] void fail(const std::string& what, uint64_t row = 0) const {
    throw DataError(input_.name(), row, what);
  }

  std::string member_names() const {
    std::string list;
    for (const ZipMember& member : zip_.members()) list += (list.empty() ? "" : ", ") + quoted(member.name);
    return list.empty() ? "nothing" : list;
  }

 private:
  Input& input_;
  ZipArchive zip_;
};

// Sorts the columns of a row. False when one is outside the matrix or there twice.
bool order_row(std::span<const int64_t> indices, std::span<const float> data, uint64_t columns,
               SparseMatrix& out) {
  std::vector<std::pair<int64_t, float>> row;
  for (size_t i = 0; i < indices.size(); ++i) row.emplace_back(indices[i], data[i]);
  auto by_column = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(row.begin(), row.end(), by_column);
  for (size_t i = 0; i < row.size(); ++i) {
    auto [column, value] = row[i];
    if (column < 0 || static_cast<uint64_t>(column) >= columns || (i > 0 && row[i - 1].first == column))
      return false;
    out.column.push_back(static_cast<uint32_t>(column));
    out.value.push_back(value);
  }
  out.begin.push_back(out.column.size());
  return true;
}

// scipy.sparse.save_npz: row r has columns indices[indptr[r] .. indptr[r+1]) and the values of `data` there.
Features csr_features(const Archive& archive) {
  if (archive.find({"format"})) {
    auto format = archive.with("format", read_labels);
    if (format.size() != 1 || format[0] != "csr")
      archive.fail("found a sparse matrix that is not CSR; convert it with .tocsr()");
  }
  auto shape = archive.with("shape", read_integers);
  auto indptr = archive.with("indptr", read_integers);
  auto indices = archive.with("indices", read_integers);
  auto data = archive.with("data", read_floats);
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[1] > int64_t{0xFFFFFFFE})
    archive.fail("found an impossible shape of a CSR matrix");
  if (indptr.size() - 1 != static_cast<uint64_t>(shape[0]) || indices.size() != data.size() ||
      indptr.front() != 0 || static_cast<uint64_t>(indptr.back()) != data.size() ||
      !std::is_sorted(indptr.begin(), indptr.end()))
    archive.fail("the arrays of the CSR matrix do not fit together");
  Features features;
  features.sparse.columns = static_cast<uint32_t>(shape[1]);
  for (size_t r = 0; r + 1 < indptr.size(); ++r) {
    auto begin = static_cast<size_t>(indptr[r]), size = static_cast<size_t>(indptr[r + 1]) - begin;
    if (!order_row({indices.data() + begin, size}, {data.data() + begin, size}, features.sparse.columns,
                   features.sparse))
      archive.fail(
          fmt::format("row {}: found a column twice or beyond the {} columns of the matrix", r + 1, shape[1]),
          r + 1);
  }
  return features;
}

}  // namespace

ReadResult read_npz(Input& input, const ReadOptions& options) {
  if (!input.storage())
    throw DataError(input.name(), 0,
                    "an npz file cannot be read from a pipe or from within gzip; expected a plain file");
  Archive archive(input);
  const ZipMember* dense = archive.find({"X", "x", "features"});
  bool sparse = !dense && archive.find({"indptr"});
  if (!dense && !sparse) dense = archive.find({"data"});
  if (!dense && !sparse)
    archive.fail(fmt::format(
        "found {}; expected an array X, x, features or data (and y, label, labels, target or targets)",
        archive.member_names()));
  Features features = sparse ? csr_features(archive) : archive.with(*dense, dense_features);
  std::optional<std::vector<std::string>> labels;
  const ZipMember* inside = archive.find({"y", "label", "labels", "target", "targets"});
  if (!options.labels_path.empty()) {
    labels = read_label_file(options.labels_path);
  } else if (inside) {
    labels = archive.with(*inside, read_labels);
  }
  ReadResult result = labelled_matrix(input, std::move(features), std::move(labels), options);
  result.report.bytes = input.storage()->size();
  return result;
}

}  // namespace selfnorm
