#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

namespace selfnorm::cli {
namespace fs = std::filesystem;

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "selfnorm-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder)) all.push_back(entry.path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> Folder::names() const { return files_of(path()); }

void expect_same_bytes_for_any_threads(const Folder& folder, const std::string& data,
                                       const TrainingWords& words) {
  ASSERT_EQ(std::system(("gzip -k " + folder / data).c_str()), 0);
  ASSERT_EQ(folder.run(words(data, "a", {"--threads", "1"})).code, 0);
  ASSERT_EQ(folder.run(words(data + ".gz", "b", {"--threads", "2"})).code, 0);
  ASSERT_EQ(folder.run(words(data, "c", {"--seed", "1"})).code, 0);
  const std::string model = content(folder / "a/model.safetensors");
  EXPECT_TRUE(model == content(folder / "b/model.safetensors"));
  EXPECT_FALSE(model == content(folder / "c/model.safetensors"));
}

Outcome Folder::run(const std::vector<std::string>& words) const {
  return run(words, [](pid_t) {});
}

namespace {

// In `folder`, with `input` (a file, or "" for none of its own) as standard input.
Outcome run_in(const std::string& folder, const std::vector<std::string>& words, const std::string& input,
               const std::function<void(pid_t)>& meddle) {
  const Folder capture;
  const std::string out = capture / "out", err = capture / "err";
  std::vector<char*> arguments{const_cast<char*>(SELFNORM_PROGRAM)};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(out.c_str(), O_CREAT | O_WRONLY, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    if (!input.empty()) dup2(open(input.c_str(), O_RDONLY), STDIN_FILENO);
    if (chdir(folder.c_str()) != 0) _exit(127);
    execv(SELFNORM_PROGRAM, arguments.data());
    _exit(127);
  }
  meddle(child);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(out), content(err)};
}

}  // namespace

Outcome Folder::run(const std::vector<std::string>& words, const std::function<void(pid_t)>& meddle) const {
  return run_in(path(), words, "", meddle);
}

Outcome Folder::run_on(const std::string& input, const std::vector<std::string>& words) const {
  const Folder typed;
  typed.write("input", input);
  return run_in(path(), words, typed / "input", [](pid_t) {});
}

void Folder::generate_text(const std::string& name, int sentences, unsigned seed) const {
  const std::vector<std::string> words{"the", "a",  "cat", "dog", "sat",   "ran",
                                       "on",  "in", "mat", ".",   "quick", "Caf\xC3\xA9"};
  std::minstd_rand random(seed);
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    const unsigned long length = random() % 9;
    for (unsigned long j = 0; j < length; ++j) {
      const unsigned long draw = random() % (words.size() * words.size());
      text += words[static_cast<size_t>(std::sqrt(static_cast<double>(draw)))] + " ";
    }
    if (i % 50 == 0) text += "once" + std::to_string(i);
    text += "\n";
  }
  write(name, text);
}

void Folder::generate(const std::string& name, int rows, int classes) const {
  const Outcome made =
      run({"data", "generate", "--rows", std::to_string(rows), "--features", "30", "--classes",
           std::to_string(classes), "--density", "0.2", "--seed", "3", "--out", name});
  ASSERT_EQ(made.code, 0) << made.err;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_user_error(const Outcome& outcome, const std::string& text) {
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.rfind("selfnorm: error: ", 0), 0u) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(text), std::string::npos) << "expected '" << text << "' in: " << outcome.err;
}

}  // namespace selfnorm::cli
