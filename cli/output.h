// What commands print: results on stdout, everything else on stderr.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace selfnorm::cli {

// Gives descriptors 0, 1 and 2 that are closed a file of no use, so that no other gets their number: what
// reads or writes there finds an error (0, 1) or is ignored (2).
void occupy_standard_descriptors();

// Throws Error when stdout cannot take it (disk full); ends the process as SIGPIPE does when its reader went.
void print(const std::string& text);
// A non-finite number is written as null: JSON has no other word for it.
void print_json(const nlohmann::ordered_json& value);
// Pushes what is buffered to stdout; throws Error when it cannot.
void flush_output();

// Nothing depends on stderr: what it does not take (closed, full, its reader gone) is lost without a word.
void put_on_stderr(std::string_view text) noexcept;  // async-signal-safe
void note(const std::string& text);                  // "text" on stderr
void warning(const std::string& text);               // "selfnorm: warning: text" on stderr

// Columns aligned, the first one left, the others right; `rows[0]` is the header.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

// 1234567 -> "1,234,567"
std::string grouped(uint64_t number);

// Four digits behind the point; "-" for NaN, the mean of nothing.
std::string decimal(double value);

}  // namespace selfnorm::cli
