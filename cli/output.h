// What commands print: results on stdout, everything else on stderr.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace selfnorm::cli {

struct CommonArguments;

using Json = nlohmann::ordered_json;

// Gives descriptors 0, 1 and 2 that are closed a file of no use, so that no other gets their number: what
// reads or writes there finds an error (0, 1) or is ignored (2).
void occupy_standard_descriptors();

// Throws Error when stdout cannot take it (disk full); ends the process as SIGPIPE does when its reader went.
void print(const std::string& text);
// A non-finite number is written as null: JSON has no other word for it.
void print_json(const Json& value);
// Pushes what is buffered to stdout; throws Error when it cannot.
void flush_output();

// The result of a command: as JSON with --json, otherwise as text.
void put_out(const CommonArguments& common, const Json& json, const std::string& text);

// Nothing depends on stderr: what it does not take (closed, full, its reader gone) is lost without a word.
void put_on_stderr(std::string_view text) noexcept;  // async-signal-safe
void be_quiet(bool quiet);                           // --quiet: no notes
void note(const std::string& text);                  // "text" on stderr
void warning(const std::string& text);               // "selfnorm: warning: text" on stderr

// Columns aligned, the first one left, the others right; `rows[0]` is the header.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

// The same of a table whose cells may be empty: "-", or no column where no row has one.
std::string aligned_present(std::vector<std::vector<std::string>> rows);

// 1234567 -> "1,234,567"
std::string grouped(uint64_t number);

// Four digits behind the point; "-" for NaN, the mean of nothing.
std::string decimal(double value);

// A field of a TSV line: tab, line feed and backslash as \t, \n and \\.
std::string escaped(std::string_view text);
// On one line; letters that are no UTF-8 are replaced.
std::string json_line(const Json& value);

// Rows as they are computed: lines under a head, or the last member, a list, of one JSON object. The head
// goes out with the first row, so that an error before it leaves nothing behind.
class RowSheet {
 public:
  using Write = std::function<void(const std::string&)>;
  // Without a name: of lines alone.
  struct Field {
    std::string_view name;
    std::variant<uint64_t, double, std::string_view> value;
  };

  // `head`: the first line, or none; `object`: the members before the list `list`.
  RowSheet(bool json, std::string head, const Json& object, const std::string& list = "rows",
           Write write = print);

  // Fields separated by tabs, or an object.
  void row(const std::vector<Field>& fields);
  // Lines, or objects, as they are, without the end of a line.
  void put(const std::string& text);
  void finish();
  bool is_json() const { return json_; }

 private:
  void open();

  bool json_, is_open_ = false;
  std::string head_;
  Write write_;
};

}  // namespace selfnorm::cli
