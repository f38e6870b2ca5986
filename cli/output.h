// What commands print: results on stdout, everything else on stderr.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace selfnorm::cli {

// Throws Error when stdout cannot take it (disk full).
void print(const std::string& text);
// A non-finite number is written as null: JSON has no other word for it.
void print_json(const nlohmann::ordered_json& value);
// Pushes what is buffered to stdout; throws Error when it cannot.
void flush_output();

void note(const std::string& text);     // "text" on stderr
void warning(const std::string& text);  // "selfnorm: warning: text" on stderr

// Columns aligned, the first one left, the others right; `rows[0]` is the header.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

// 1234567 -> "1,234,567"
std::string grouped(uint64_t number);

}  // namespace selfnorm::cli
