#include "experiments/papers/next_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr const char* kLicences = "/usr/share/common-licenses";
constexpr const char* kOther = "<other>";

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 128 || std::isalpha(byte) != 0) {
      word += byte < 128 ? static_cast<char>(std::tolower(byte)) : c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

// The most frequent words; the last place is left for all others.
std::vector<std::string> vocabulary_of(const std::vector<std::string>& words, uint32_t size) {
  std::map<std::string, uint64_t> count;
  for (const std::string& word : words) ++count[word];
  std::vector<std::pair<std::string, uint64_t>> order(count.begin(), count.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (order.size() < size) {
    throw Error(fmt::format("the text has {} different words; expected at least {}: use a longer text",
                            order.size(), size));
  }
  std::vector<std::string> vocabulary;
  for (uint32_t k = 0; k + 1 < size; ++k) vocabulary.push_back(order[k].first);
  vocabulary.emplace_back(kOther);
  return vocabulary;
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    throw Error(fmt::format("{}: the text cannot be read; give another --text FILE", path));
  }
  return text.str();
}

}  // namespace

Dataset next_word_data(const std::string& text, const NextWordOptions& options) {
  SELFNORM_CHECK(options.vocabulary >= 2 && options.context >= 1);
  const std::vector<std::string> words = words_of(text);
  if (words.size() <= options.context) {
    throw Error(fmt::format("the text has {} words; expected more than {}", words.size(), options.context));
  }
  Dataset data;
  data.labels = vocabulary_of(words, options.vocabulary);
  std::map<std::string, uint32_t> number;
  for (uint32_t k = 0; k + 1 < options.vocabulary; ++k) number[data.labels[k]] = k;
  std::vector<uint32_t> code;
  for (const std::string& word : words) {
    const auto found = number.find(word);
    code.push_back(found == number.end() ? options.vocabulary - 1 : found->second);
  }
  SparseMatrix& x = data.features.sparse;
  x.columns = options.context * options.vocabulary;
  const uint64_t last = std::min<uint64_t>(code.size(), options.examples + options.context < options.examples
                                                            ? UINT64_MAX
                                                            : options.examples + options.context);
  for (uint64_t i = options.context; i < last; ++i) {
    for (uint32_t j = 0; j < options.context; ++j)
      x.column.push_back(j * options.vocabulary + code[i - 1 - j]);
    x.begin.push_back(x.column.size());
    data.target.push_back(code[i]);
  }
  x.value.assign(x.column.size(), 1.0f);
  return data;
}

std::string language_text(const std::string& file) {
  if (!file.empty()) return file_text(file);
  std::vector<std::string> paths;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(kLicences, failure)) {
    if (entry.is_regular_file() && !entry.is_symlink()) paths.push_back(entry.path().string());
  }
  if (paths.empty()) {
    throw Error(fmt::format("{}: no texts found; give one with --text FILE", kLicences));
  }
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const std::string& path : paths) text += file_text(path) + "\n";
  return text;
}

}  // namespace selfnorm
