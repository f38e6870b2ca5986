// Any text as a config file (TOML): refused with an Error, or words of a command line.
#include <string>

#include "grammar/config_file.h"
#include "selfnorm/error.h"

using namespace selfnorm;
using namespace selfnorm::cli;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const CommandTable table{
      {.path = "train density",
       .text = "",
       .options = {{.name = "--alpha", .kind = ValueKind::kReal},
                   {.name = "--quiet", .kind = ValueKind::kFlag}}},
      {.path = "score", .text = "", .options = {{.name = "--top", .kind = ValueKind::kInteger}}}};
  try {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const std::string& word : config_words(table, table[0], "c.toml", text))
      SELFNORM_CHECK(word.starts_with("--alpha=") || word.starts_with("--quiet="));
  } catch (const Error&) {
  }
  return 0;
}
