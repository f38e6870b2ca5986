// Sentences of a small grammar of names and places, as columns.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "cli/program.h"

namespace selfnorm::cli {

// A span now and then among other words: "Ann Lee went to Rome". "May" is a name after a first name and no
// name elsewhere, so that the label before tells something.
inline std::string sentences_text(int sentences, unsigned seed = 1, bool has_labels = true) {
  const std::vector<std::string> first{"Ann", "Bob", "Cleo"}, last{"Lee", "May", "Roe"},
      places{"Rome", "Oslo", "Lima"}, others{"went", "to", "saw", "May", "the", "river"};
  std::minstd_rand random(seed);
  std::string text;
  const auto add = [&](const std::vector<std::string>& words, const std::string& label) {
    text += words[random() % words.size()] + (has_labels ? " " + label : "") + "\n";
  };
  for (int i = 0; i < sentences; ++i) {
    const int parts = 1 + static_cast<int>(random() % 4);
    for (int part = 0; part < parts; ++part) {
      const auto kind = random() % 4;
      if (kind == 0) {
        add(first, "B-PER");
        add(last, "I-PER");
      } else if (kind == 1) {
        add(places, "B-LOC");
      } else {
        add(others, "O");
      }
    }
    text += "\n";
  }
  return text;
}

inline std::vector<std::string> train_crf(const std::string& data, const std::string& out,
                                          const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"train", "crf", data, "--out", out, "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace selfnorm::cli
