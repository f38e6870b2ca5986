// Two kinds of failure. A user's mistake (bad file, bad option) is an Error: it says what was found, what was
// expected and what to do; the command line prints it on one line and exits 1. A broken invariant is a bug:
// SELFNORM_CHECK throws Bug, and the command line exits 2.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace selfnorm {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An Error at a place in a file: the message reads "file:line: what"; line 0 means the file as a whole
// ("file: what").
class DataError : public Error {
 public:
  DataError(const std::string& file, uint64_t line, const std::string& what);
  uint64_t line() const { return line_; }

 private:
  uint64_t line_;
};

class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace selfnorm

#define SELFNORM_CHECK(condition) \
  ((condition) ? void(0) : ::selfnorm::fail_check(#condition, __FILE__, __LINE__))
