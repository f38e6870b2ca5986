// Finished pieces of a long experiment in a file, one JSON object a line, appended as soon as each is done:
//     {"key": ..., "numbers": {name: number or null}, "grid": [...]}
// so that an interrupted experiment goes on where it was. A line that was not written to its end is ignored.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace selfnorm {

struct CellValues {
  std::map<std::string, double> numbers;  // one that is not finite comes back as NaN
  std::vector<double> grid = {};          // many numbers, as of a picture row by row; often empty

  double at(const std::string& name) const;  // throws Bug
};

class Cells {
 public:
  // Reads what the file has; "": nothing is kept. Throws Error when it cannot be read.
  explicit Cells(std::string path);

  bool has(const std::string& key) const { return known_.contains(key); }
  // That of the file, or computed and appended. Throws Error when it cannot be written.
  const CellValues& get(const std::string& key, const std::function<CellValues()>& compute);

 private:
  std::string path_;
  bool is_torn_ = false;  // the file ends without a newline
  std::map<std::string, CellValues> known_;
};

}  // namespace selfnorm
