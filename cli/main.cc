#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/interruption.h"
#include "base/option_table.h"
#include "commands.h"
#include "gpu/device.h"
#include "grammar/parser.h"
#include "interruption.h"
#include "math/process/link.h"
#include "output.h"
#include "processes.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/shortened.h"
#include "version.h"

namespace selfnorm::cli {
namespace {

constexpr int kUserError = 1;
constexpr int kBug = 2;
constexpr size_t kLongestMessage = 700;  // where a path may have its place
constexpr const char* kNoMemory =
    "not enough memory; use fewer rows, features or classes (text: --hash-buckets, --min-count), or a "
    "smaller --batch";

int help_command(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.help_words;
  if (words.size() == 1)
    if (const std::string text = topic_text(words[0]); !text.empty()) {
      print(text);
      return 0;
    }
  print(help_text(words.empty() ? "" : command_path(command_table(), words)));
  return 0;
}

int dispatch(const Arguments& arguments) {
  check_model_and_data(arguments);
  const std::string& command = arguments.command;
  if (command.starts_with("train ")) return train_command(arguments);
  if (is_model_command(arguments)) return model_command(arguments);
  refuse_processes(arguments);
  if (command == "launch") return launch_command(arguments);
  if (command == "info") return info_command(arguments);
  if (command == "reproduce") return reproduce_command(arguments);
  if (command == "report") return report_command(arguments);
  if (command == "data generate") return data_generate_command(arguments);
  if (command == "help") return help_command(arguments);
  if (command == "completions") {
    print(completions(command_table(), arguments.shell));
    return 0;
  }
  if (command == "man") {
    print(arguments.markdown ? reference(command_table()) : manual(command_table(), kVersion));
    return 0;
  }
  throw Bug("no function for command " + command);
}

int fail(const char* kind, std::string text, int code) {
  text = runtime::shortened(text, kLongestMessage);
  for (char& c : text)  // a terminal obeys what is left of them
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = c == '\n' || c == '\t' ? ' ' : '?';
  return fail_processes(fmt::format("selfnorm: {}: {}\n", kind, text), code);
}

int run(const std::vector<std::string>& words) {
  try {
    int code = 0;
    try {
      code = dispatch(parse(words));
    } catch (const Reply& reply) {
      print(reply.text);
    }
    flush_output();
    return leave_processes(code);
  } catch (const Interrupted&) {
    return leave_processes(interrupted());
  } catch (const BrokenJob& job) {
    return fail("error", job.why, kUserError);
  } catch (const Error& error) {
    return fail("error", error.what(), kUserError);
  } catch (const std::system_error& error) {
    return fail("error", error.what(), kUserError);
  } catch (const std::bad_alloc&) {
    return fail("error", kNoMemory, kUserError);
  } catch (const std::length_error&) {
    return fail("error", kNoMemory, kUserError);
  } catch (const std::exception& error) {
    return fail("bug", error.what(), kBug);
  }
}

}  // namespace
}  // namespace selfnorm::cli

int main(int count, char** words) {
  selfnorm::name_options_as(selfnorm::OptionStyle::flag);
  selfnorm::cli::occupy_standard_descriptors();
  selfnorm::cli::catch_signals();
  selfnorm::cli::quieten_others();
  const int code = selfnorm::cli::run({words + 1, words + count});
  if (selfnorm::used_device() == "cpu") return code;
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(code);  // a driver that is taken down in order takes longer than many a run
}
