// Attribute files for bench/crf.py: label TAB attribute ..., a blank line after a sentence.
//   bench_crf_data conllu FILE OUT                 the attributes of the default templates of tagging
//   bench_crf_data random LABELS ATTRIBUTES SENTENCES OUT   sentences of 20 positions with 10 attributes
//   each,
//                                                    of which some are frequent and half go with the label
#include <fmt/format.h>
#include <fmt/os.h>

#include <cstdlib>
#include <string>

#include "data/sentences/read_sequences.h"
#include "math/random.h"
#include "selfnorm/error.h"

namespace {

constexpr uint64_t kLength = 20, kAttributes = 10;

std::string escaped(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

void write_conllu(const char* path, fmt::ostream& out) {
  selfnorm::SequenceOptions options;
  options.format = selfnorm::SequenceFormat::conllu;
  const selfnorm::SequenceRead read = selfnorm::learn_sequences(path, options);
  for (uint64_t i = 0; i < read.data.sentences(); ++i) {
    for (uint64_t t = read.data.sentence_begin[i]; t < read.data.sentence_begin[i + 1]; ++t) {
      out.print("{}", read.encoder.labels[read.data.label[t]]);
      for (const uint32_t a : read.data.unigram.attributes(t))
        out.print("\t{}", escaped(read.encoder.unigrams[a]));
      out.print("\n");
    }
    out.print("\n");
  }
}

struct Size {
  uint64_t labels, attributes, sentences;
};

void write_random(const Size& size, fmt::ostream& out) {
  selfnorm::RandomStream random(1);
  const uint64_t kinds = size.attributes / kAttributes;  // of each place in the list: no attribute twice
  for (uint64_t i = 0; i < size.sentences; ++i) {
    for (uint64_t t = 0; t < kLength; ++t) {
      const uint64_t label = random.below(size.labels);
      out.print("L{}", label);
      for (uint64_t a = 0; a < kAttributes; ++a) {
        const double u = random.uniform();
        const auto rank = static_cast<uint64_t>(static_cast<double>(kinds) * u * u * u);
        const uint64_t kind = (a % 2 == 0 ? rank : rank + label * kinds / size.labels) % kinds;
        out.print("\ta{}", kind * kAttributes + a);
      }
      out.print("\n");
    }
    out.print("\n");
  }
}

}  // namespace

int main(int count, char** argument) {
  const std::string kind = count > 1 ? argument[1] : "";
  const auto number = [&](int i) { return std::strtoull(argument[i], nullptr, 10); };
  try {
    if (kind == "conllu" && count == 4) {
      fmt::ostream out = fmt::output_file(argument[3]);
      write_conllu(argument[2], out);
    } else if (kind == "random" && count == 6) {
      fmt::ostream out = fmt::output_file(argument[5]);
      write_random({number(2), number(3), number(4)}, out);
    } else {
      fmt::print(stderr, "usage: bench_crf_data conllu FILE OUT | random LABELS ATTRIBUTES SENTENCES OUT\n");
      return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
