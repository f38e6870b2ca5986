#include "grammar/parser.h"

#include <algorithm>

#include "base/failure.h"
#include "base/option_table.h"
#include "crf/crf_model.h"
#include "data/table/table_sample.h"
#include "gpu/device.h"
#include "grammar/config_file.h"
#include "grammar/grammar.h"
#include "output.h"
#include "run/run_record.h"
#include "selfnorm/runtime/shortened.h"
#include "version.h"

namespace selfnorm::cli {
namespace {

void parse_or_explain(Grammar& grammar, const std::string& path, const std::vector<std::string>& words) {
  try {
    grammar.parse(path, words);
  } catch (const CLI::ParseError& error) {
    std::string text = runtime::shortened(error.what(), 400);  // with the words that were expected
    std::ranges::replace(text, '\n', ' ');
    throw_error("{}; see 'selfnorm {} --help'", text, path);
  }
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::ptrdiff_t word_count(const std::string& path) { return 1 + std::ranges::count(path, ' '); }

// "--target a --target b" -> "--target=a,b", so that lists of the command line, a config file and a record
// replace one another whole.
std::vector<std::string> joined_lists(const CommandRow& command, const std::vector<std::string>& words) {
  std::vector<std::string> lists, others;
  const auto end = std::ranges::find(words, "--");
  for (auto word = words.begin(); word != words.end(); ++word) {
    const std::string name = word->substr(0, word->find('='));
    const OptionRow* option = word < end ? command.find(name) : nullptr;
    const bool has_value = *word != name;
    if (option == nullptr || !option->is_list || (!has_value && word + 1 >= end)) {
      others.push_back(*word);
      continue;
    }
    const std::string value = has_value ? word->substr(name.size() + 1) : *++word;
    if (value.empty()) {  // which "--name=" would not say
      others.insert(others.end(), {name, value});
      continue;
    }
    const std::string start = fmt::format("{}=", name);
    const auto same = std::find_if(lists.begin(), lists.end(),
                                   [&start](const auto& list) { return list.starts_with(start); });
    if (same == lists.end())
      lists.push_back(start + value);
    else
      *same += "," + value;
  }
  return joined(lists, others);
}

// Options and words by the names they have now; a former one is still understood, and the new one is said.
std::vector<std::string> with_present_names(const CommandRow& command, std::vector<std::string> words) {
  be_quiet(std::ranges::find(words, "--quiet") != words.end());
  const auto exists = [&command](const std::string& name) { return command.find("--" + name) != nullptr; };
  const auto replaced = [](std::string& word, size_t at, size_t size, const std::string& now) {
    std::string former = word.substr(at, size);
    word.replace(at, size, now);
    return former;
  };
  const auto end = std::ranges::find(words, "--");
  for (auto word = words.begin(); word != end; ++word) {
    if (!word->starts_with("--")) continue;
    const std::string name = word->substr(2, word->find('=') - 2);
    if (const std::string now = present_name(name, exists); !now.empty())
      note(fmt::format("--{} is called --{} now", replaced(*word, 2, name.size(), now), now));
    const size_t equals = word->find('=');
    const bool is_next = equals == std::string::npos;
    if (is_next && word + 1 == end) break;
    std::string& value = is_next ? *(word + 1) : *word;
    const size_t at = is_next ? 0 : equals + 1;
    if (const std::string now = present_value(name, value.substr(at)); !now.empty())
      note(fmt::format("--{} {} is called {} now", name, replaced(value, at, std::string::npos, now), now));
    if (command.path == "predict" && name == "format" && value.substr(at) == "json") {
      note("--format json is called --output-format json now");
      word->insert(2, "output-");
    }
  }
  return words;
}

// The same of a record.
void name_as_now(const CommandRow& command, Json& record) {
  const auto exists = [&command](const std::string& name) { return command.find("--" + name) != nullptr; };
  const Json before = record;
  for (const auto& [name, value] : before.items()) {
    const std::string now = present_name(name, exists);
    if (!now.empty()) record.erase(name);
    if (!now.empty()) record[now] = value;
    if (value.is_string())
      if (const std::string word = present_value(name, value.get<std::string>()); !word.empty())
        record[name] = word;
  }
}

void resolve(Arguments& arguments) {
  const CommonArguments& common = arguments.common;
  be_quiet(common.quiet);
  limit_expansion(common.max_expansion);
  read_decimal_commas(arguments.reader.decimal_comma);
  choose_device(common.device);
  if (arguments.command == "evaluate") {
    std::vector<std::string>& models = arguments.evaluate.models;
    if (models.size() < 2)
      throw Error("evaluate: DATA is required after MODEL; see 'selfnorm evaluate --help'");
    arguments.evaluate.data = models.back();
    models.pop_back();
  }
  if (arguments.score.data.empty()) arguments.score.data = "-";
  if (arguments.predict.data.empty()) arguments.predict.data = "-";
  ReadOptions& read = arguments.reader.options;
  std::vector<std::string> of_sentences = sequence_format_names();  // and auto
  of_sentences.push_back("sentences");
  const std::string& format = arguments.reader.format;
  const bool is_of_rows = std::ranges::find(of_sentences, format) == of_sentences.end();
  read.format = is_of_rows ? format_from_name(format) : Format::automatic;
  read.header = arguments.reader.header == "auto"  ? Header::automatic
                : arguments.reader.header == "yes" ? Header::yes
                                                   : Header::no;
  read.threads = common.threads;
  arguments.training().options.threads = common.threads;
  arguments.density.options.threads = common.threads;
  arguments.regressor.options.threads = common.threads;
  arguments.crf.options.threads = common.threads;
  arguments.density.options.code = arguments.regressor.options.code = common.code();
}

bool asks_help(const std::vector<std::string>& words) {
  const auto end = std::ranges::find(words, "--");
  return std::any_of(words.begin(), end, [](const auto& word) { return word == "--help" || word == "-h"; });
}

}  // namespace

Arguments parse(const std::vector<std::string>& words) {
  const CommandTable table = command_table();
  if (!words.empty() && words[0] == "--version") throw Reply{fmt::format("selfnorm {}\n", kVersion)};
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) throw Reply{help_text("")};
  const std::string path = command_path(table, words);
  const auto split = words.begin() + word_count(path);
  const std::vector<std::string> start(words.begin(), split);
  if (asks_help({split, words.end()})) throw Reply{help_text(path)};
  const CommandRow& command = *find(table, path);
  const std::vector<std::string> rest =
      joined_lists(command, with_present_names(command, {split, words.end()}));
  check_option_names(command, rest);

  Grammar given;
  parse_or_explain(given, path, joined(start, rest));
  std::vector<std::string> below;
  Json record;
  const RunArguments& run = given.arguments().run();
  if (path.starts_with("train ") && run.resume) {
    record = recorded_options(command, given.arguments());
    name_as_now(command, record);
    below = option_words(command, record);
    const std::string& data = command.options[0].name;
    if (run.train.empty() && record.contains(data)) below.push_back(record[data]);
  }
  if (!given.arguments().common.config.empty())
    below = joined(below, config_words(table, command, given.arguments().common.config));
  below = with_present_names(command, below);
  Grammar merged;
  parse_or_explain(merged, path, joined(joined(start, below), rest));
  for (const std::string& word : joined(below, rest))
    if (word.starts_with("--")) merged.arguments().named.insert(word.substr(0, word.find('=')));
  if (!record.is_null()) check_same_run(record, merged.arguments().options);
  merged.check(path);
  resolve(merged.arguments());
  return merged.arguments();
}

CommandTable command_table() { return Grammar().table(); }

std::string help_text(const std::string& path) {
  if (path.empty()) return overview_text();
  Grammar grammar;
  const size_t last = path.find_last_of(' ');
  return grammar.app_of(path).help(last == std::string::npos ? "selfnorm"
                                                             : "selfnorm " + path.substr(0, last));
}

}  // namespace selfnorm::cli
