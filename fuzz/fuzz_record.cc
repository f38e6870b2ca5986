// Any text as config.json of a run: refused with an Error, or its options become words of a command line.
#include <string>

#include "grammar/config_file.h"
#include "run/record_text.h"
#include "selfnorm/error.h"

using namespace selfnorm;
using namespace selfnorm::cli;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const CommandRow command{.path = "train density",
                           .text = "",
                           .options = {{.name = "DATA", .kind = ValueKind::kFile, .is_positional = true},
                                       {.name = "--alpha", .kind = ValueKind::kReal},
                                       {.name = "--quiet", .kind = ValueKind::kFlag}}};
  try {
    const auto record = parse_record(std::string(reinterpret_cast<const char*>(data), size), "config.json");
    SELFNORM_CHECK(!record.contains("command") || record["command"].is_string());
    for (const std::string& word : option_words(command, record["options"]))
      SELFNORM_CHECK(word.starts_with("--alpha=") || word.starts_with("--quiet="));
  } catch (const Error&) {
  }
  return 0;
}
