// Rows that could not be read: tolerated up to a number, then an error.
#pragma once

#include <string>
#include <vector>

#include "selfnorm/data/read.h"

namespace selfnorm {

enum class Place { line, row };  // what the numbers count; a message says so when it is rows

class BadRows {
 public:
  BadRows(std::string file, uint64_t tolerance, Place place)
      : file_(std::move(file)), tolerance_(tolerance), place_(place) {}

  void add(uint64_t number, const std::string& message);  // throws DataError beyond the tolerance
  bool empty() const { return rows_.empty(); }
  std::vector<BadRow> take();  // in file order

 private:
  std::string file_;
  uint64_t tolerance_;
  Place place_;
  std::vector<BadRow> rows_;
};

// Of examples of which these, by number, were left out.
RowNumbers numbers_without(const std::vector<uint64_t>& left_out);

}  // namespace selfnorm
