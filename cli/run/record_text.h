// config.json of a run (run_record.h) as text: it may have been edited, damaged or come with somebody's
// model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace selfnorm::cli {

// An object with "options": words, numbers and truth values by name, the data among them a word; and, where
// they are there, "command": a text, and "data", "valid": null or an object whose "path" and "hash" are
// texts. Throws Error naming `path` and the key.
nlohmann::ordered_json parse_record(const std::string& text, const std::string& path);

}  // namespace selfnorm::cli
