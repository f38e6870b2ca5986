// An npz file written anew from another one: some arrays put in place of those of the same name or added,
// some left out, and every other member copied as it is packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

// C order. The bytes must outlive the call.
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
