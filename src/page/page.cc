#include "page/page.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "selfnorm/error.h"

// page.S: the file that report/build.mjs wrote.
extern "C" const char selfnorm_page[];
extern "C" const uint64_t selfnorm_page_size;

namespace selfnorm {
namespace {

constexpr std::string_view kPlace = "{{DATA}}";
constexpr std::string_view kGenerator = R"(<meta name="generator" content="selfnorm">)";

// What could end a script element or a line of a script. JSON has these characters within its texts alone,
// where \uXXXX is the same text.
constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
    {"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}, {"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}};

std::string without_markup(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  while (!json.empty()) {
    const auto* escape =
        std::ranges::find_if(kEscapes, [&](const auto& pair) { return json.starts_with(pair.first); });
    const bool found = escape != std::end(kEscapes);
    escaped += found ? escape->second : json.substr(0, 1);
    json.remove_prefix(found ? escape->first.size() : 1);
  }
  return escaped;
}

}  // namespace

std::string page_html(const ReportDocument& document, const std::string& version) {
  const std::string_view page(selfnorm_page, selfnorm_page_size);
  const size_t place = page.find(kPlace);
  SELFNORM_CHECK(place != page.npos);  // report/build.mjs sees to it
  auto data = nlohmann::ordered_json::parse(document_text(document));
  data["version"] = version;
  const std::string text = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string html(page.substr(0, place));
  html += without_markup(text);
  html += page.substr(place + kPlace.size());
  return html;
}

bool is_page_or_absent(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return true;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::string start(1024, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  return start.find(kGenerator) != start.npos;
}

}  // namespace selfnorm
