// A training as Python watches it: progress and messages go to functions, Ctrl-C and errors in them stop it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "arrays.h"

namespace selfnorm::python {

class Watching final : public TrainObserver {
 public:
  // Functions of a dict, and of (kind, text); None: nobody listens.
  Watching(py::object on_progress, py::object on_message)
      : progress_(std::move(on_progress)), message_(std::move(on_message)) {}

  void on_progress(const Progress& p) override {
    if (progress_.is_none() || error_) return;
    called([&] {
      py::dict out;
      out["step"] = p.step;
      out["steps"] = p.steps;
      out["epoch"] = p.epoch;
      out["loss"] = p.loss;
      out["seconds"] = p.seconds;
      const auto add = [&out](const char* name, const std::optional<double>& value) {
        if (value) out[name] = *value;
      };
      add("nll", p.nll);
      add("log_z_rms", p.log_z_rms);
      add("valid_nll", p.valid_nll ? p.valid_nll : p.valid_nll_estimate);
      add("valid_log_z_rms", p.valid_log_z_rms);
      progress_(out);
    });
  }
  void on_warning(const std::string& text) override { say("warning", text); }
  void on_note(const std::string& text) override { say("note", text); }

  bool stop_requested() override {
    if (error_) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < std::chrono::milliseconds(50)) return false;
    looked_ = now;
    called([] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
    return error_.has_value();
  }

  // What stopped it, thrown; with the lock.
  void rethrow() {
    if (!error_) return;
    py::error_already_set error = std::move(*error_);
    error_.reset();
    throw error;
  }

 private:
  void say(const char* kind, const std::string& text) {
    if (!message_.is_none() && !error_) called([&] { message_(kind, text); });
  }
  template <class Call>
  void called(const Call& call) {
    const py::gil_scoped_acquire lock;
    try {
      call();
    } catch (py::error_already_set& error) {
      error_.emplace(std::move(error));
    }
  }

  py::object progress_, message_;
  std::optional<py::error_already_set> error_;
  std::chrono::steady_clock::time_point looked_ = {};
};

// train(Run) without the lock. `given`: (on_progress, on_message, checkpoint or "", whether to resume,
// hold_out or None).
template <class Train>
auto watched(const py::tuple& given, std::span<const float> weights, const Train& train) {
  Watching watching(given[0], given[1]);
  Run run(watching);
  run.checkpoint.path = py::cast<std::string>(given[2]);
  run.checkpoint.resume = py::cast<bool>(given[3]);
  if (!given[4].is_none()) run.hold_out = py::cast<double>(given[4]);
  run.weights = weights;
  try {
    auto out = unlocked([&] { return train(run); });
    watching.rethrow();
    return out;
  } catch (const Stopped&) {
    watching.rethrow();
    throw;
  }
}

}  // namespace selfnorm::python
