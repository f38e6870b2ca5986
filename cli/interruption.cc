#include "interruption.h"

#include <signal.h>
#include <unistd.h>

namespace selfnorm::cli {
namespace {

volatile sig_atomic_t requested = 0;

void on_signal(int) {
  if (requested) _exit(kInterruptedExit);
  requested = 1;
}

}  // namespace

void catch_interruptions() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool interruption_requested() { return requested != 0; }

}  // namespace selfnorm::cli
