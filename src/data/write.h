// Datasets to files; a file appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/points/points.h"

namespace selfnorm {

// One-based indices and shortest round-trip decimals, so reading gives the same bits back; joint data get
// qid:1, qid:2, ... with target 1 for the chosen alternative and 0 for the others. A dense row leaves its
// zeros out, except in the last column, which keeps the width. A weighted dataset is an Error.
void write_svmlight(const Dataset& data, const std::string& path);

// FILE.csv: a header and shortest round-trip decimals, so reading gives the same bits back; without names the
// columns are x1, x2, ... FILE.npy: float32, without names. Throws Error for another ending, a value that is
// not finite, or names that are not as many as the columns. In csv levels are written as their words, where
// `words` has any for the column.
void write_points(const Points& points, const std::vector<std::string>& names, const std::string& path,
                  const Categories& words = {});
// A text as a field of FILE.csv (RFC 4180): quoted where it has a separator, a quote, a line end or a space
// at an end, or is empty.
std::string csv_field(const std::string& text);
// The lines of FILE.csv, each with its end.
void csv_lines(const Points& points, const std::vector<std::string>& names,
               const std::function<void(const std::string&)>& write, const Categories& words = {});
// Throws Error for another ending: to be known before the points are made.
void check_points_path(const std::string& path);

// An npz file written anew from another one: some arrays put in place of those of the same name or added,
// some left out, and every other member copied as it is packed. C order; the bytes must outlive the call.
struct NpyArray {
  std::string name;   // without ".npy"
  std::string descr;  // of the element type, "<f4"
  std::vector<uint64_t> shape;
  std::span<const std::byte> bytes;
};

struct NpzChange {
  std::vector<NpyArray> put;
  std::vector<std::string> leave_out;  // names without ".npy"; those that `put` holds are put all the same
};

// An array is packed (stored or deflated) as the one it replaces, a new one as the first replaced. `out` may
// be `source`; it appears whole or not at all. Throws Error naming the file.
void rewrite_npz(const std::string& source, const NpzChange& change, const std::string& out);

}  // namespace selfnorm
