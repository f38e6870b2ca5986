// What `info` says of a regressor.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace selfnorm::cli {

// path: of the file itself.
nlohmann::ordered_json regressor_info(const std::string& path);

}  // namespace selfnorm::cli
