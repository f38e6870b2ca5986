// Any text as feature templates, as models carry them; and what those that are accepted make of a sentence.
#include <string>

#include "data/sentences/feature_template.h"
#include "data/sentences/read_sequences.h"
#include "memory_file.h"
#include "selfnorm/error.h"

using namespace selfnorm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string sentence =
      "The DT A\n\xC3\xA9t\xC3\xA9-1990s NN B\n" + std::string(300, 'a') + " NN A\n\n";
  static const MemoryFile file(reinterpret_cast<const uint8_t*>(sentence.data()), sentence.size());
  try {
    SequenceOptions options;
    options.format = SequenceFormat::columns;
    options.templates = std::string(reinterpret_cast<const char*>(data), size);
    const FeatureTemplates templates = parse_templates(options.templates, "fuzz");
    SELFNORM_CHECK(!templates.list.empty() && templates.text == options.templates);
    const SequenceRead read = learn_sequences(file.path(), options);
    SELFNORM_CHECK(read.data.sentences() == 1);
  } catch (const Error&) {
  }
  return 0;
}
