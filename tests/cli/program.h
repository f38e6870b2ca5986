// Runs the built program as a user's shell would, in a folder of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace selfnorm::cli {

struct Outcome {
  int code = -1;  // exit code; 128 + signal when killed
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

inline std::set<std::string> keys(const nlohmann::json& object) {
  std::set<std::string> all;
  for (const auto& [key, value] : object.items()) all.insert(key);
  return all;
}

inline const std::string kTruth = "data.svm.truth.safetensors";  // of Folder::generate("data.svm")

// A new empty folder, removed at the end with all it holds.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const;
  std::vector<std::string> names() const;  // sorted

  // Runs the program here.
  Outcome run(const std::vector<std::string>& words) const;
  // Runs it with this text on standard input.
  Outcome run_on(const std::string& input, const std::vector<std::string>& words) const;
  // Starts it, calls `meddle` with its process id while it runs, and waits.
  Outcome run(const std::vector<std::string>& words, const std::function<void(pid_t)>& meddle) const;
  // data.svm with a known truth.
  void generate(const std::string& name = "data.svm", int rows = 300, int classes = 4) const;
  // Text of so many sentences over a dozen words, a few of them rare.
  void generate_text(const std::string& name = "data.txt", int sentences = 400, unsigned seed = 1) const;

 private:
  std::filesystem::path path_;
};

std::string content(const std::string& path);
std::vector<std::string> files_of(const std::string& folder);  // names, sorted

// The words of a short training on `data` into the run `out`, with more options.
using TrainingWords = std::function<std::vector<std::string>(const std::string& data, const std::string& out,
                                                             const std::vector<std::string>& more)>;
// The same model from `data` and from a gzip of it, by one thread and by two; another one by another seed.
void expect_same_bytes_for_any_threads(const Folder& folder, const std::string& data,
                                       const TrainingWords& words);

// A user's error: exit 1, nothing on stdout, exactly one line on stderr that holds `text`.
void expect_user_error(const Outcome& outcome, const std::string& text);

}  // namespace selfnorm::cli
