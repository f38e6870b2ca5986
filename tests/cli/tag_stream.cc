// Who asks through a pipe is answered sentence by sentence.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sentence_data.h"

namespace selfnorm::cli {
namespace {

// The program with a pipe to its standard input and one from its standard output.
class Conversation {
 public:
  Conversation(const Folder& folder, const std::vector<std::string>& words) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) throw std::runtime_error("no pipe");
    std::vector<char*> arguments{const_cast<char*>(SELFNORM_PROGRAM)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    child_ = fork();
    if (child_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
      if (chdir(folder.path().c_str()) != 0) _exit(127);
      execv(SELFNORM_PROGRAM, arguments.data());
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }

  void say(const std::string& text) const {
    EXPECT_EQ(write(to_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // What is answered, as far as `end`; less when nothing comes for half a minute.
  std::string answer(const std::string& end) const {
    std::string text;
    char c = 0;
    pollfd ready{from_, POLLIN, 0};
    while (!text.ends_with(end) && poll(&ready, 1, 30'000) == 1 && read(from_, &c, 1) == 1) text += c;
    return text;
  }
  int finish() {
    close(to_);
    int status = 0;
    waitpid(child_, &status, 0);
    close(from_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t child_ = 0;
  int to_ = -1, from_ = -1;
};

TEST(TagStream, ASentenceIsAnsweredBeforeTheInputEnds) {
  const Folder folder;
  folder.write("data.conll", sentences_text(60));
  ASSERT_EQ(folder.run(train_crf("data.conll", "run", {"--steps", "20"})).code, 0);
  // A path that is no file is a pipe as well.
  for (const std::string data : {"-", "/dev/stdin"}) {
    Conversation tag(folder, {"tag", "run", data});
    tag.say("Ann\nLee\n\n");
    EXPECT_EQ(tag.answer("\n\n"), "Ann\tB-PER\nLee\tI-PER\n\n") << data;
    tag.say("Rome\n\n");
    EXPECT_EQ(tag.answer("\n\n"), "Rome\tB-LOC\n\n") << data;
    EXPECT_EQ(tag.finish(), 0);
  }
  Conversation score(folder, {"score", "run", "--exact", "--quiet"});
  score.say("Ann B-PER\nLee I-PER\n\n");
  EXPECT_EQ(score.answer("exact\t2\n").rfind("# exact\n0\t-", 0), 0u);
  EXPECT_EQ(score.finish(), 0);
}

}  // namespace
}  // namespace selfnorm::cli
