#include "job/script_method.hpp"

#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "job/affinity.hpp"

namespace ductile {

ScriptMethod::ScriptMethod(const RunSettings& settings, const std::string& folder)
    : settings_(settings),
      channel_(folder, {settings.size, settings.cpus, settings.launcher.hosts}),
      orders_(settings.size, settings.script.ack_timeout) {}

Variables ScriptMethod::variables(const Target& first) {
  Variables all = channel_.variables();
  all.emplace_back(kSizeVariable, std::to_string(first.size));
  return all;
}

void ScriptMethod::on_started(Generation& generation) {
  program_ = &generation;
  channel_.let_go();
}

void ScriptMethod::add_to(Poller& poller) {
  channel_.add_to(poller, [this](const ScriptWord& word) { return on_word(word); });
}

std::optional<std::string> ScriptMethod::objection(const Target& /*target*/) const {
  if (orders_.state() != ScriptOrders::State::recalled) return std::nullopt;
  return fmt::format("the program has not answered that it was to have {} again", orders_.size());
}

void ScriptMethod::begin(const Target& target, Clock::time_point now) {
  target_ = target;
  // Until it has answered it may have either.
  if (!target.cpus.empty() && !program_->cpus.empty()) {
    keep_to(united(program_->cpus, target.cpus));
  }
  orders_.ask(target.size, now);
  tell(target);
}

void ScriptMethod::tell(const Target& target) {
  channel_.tell({target.size, target.cpus, target.hosts});
  if (settings_.script.signal != 0 && !program_->status) {
    kill(program_->process.pid, settings_.script.signal);
  }
}

std::string ScriptMethod::on_word(const ScriptWord& word) {
  const auto now = Clock::now();
  return word.refuses ? orders_.on_refusal(word.why, now) : orders_.on_size(word.size, now);
}

void ScriptMethod::give_up(const std::string& reason) {
  if (orders_.state() != ScriptOrders::State::asked) return;  // it has answered
  orders_.recall(reason, Clock::now());
  tell({program_->size, program_->cpus, program_->hosts});
}

std::optional<ResizeMethod::Outcome> ScriptMethod::look(Clock::time_point now) {
  if (now >= orders_.deadline()) {
    give_up(fmt::format("the program has not answered for {:.1f} s",
                        std::chrono::duration<double>(settings_.script.ack_timeout).count()));
  }
  const auto done = orders_.take_outcome();
  if (!done) return std::nullopt;
  Outcome outcome{.error = done->error, .size = done->size};
  // Who gives back a part only is on all that it had.
  const bool has_all_it_had = !done->is_done || done->size > done->to;
  if (!has_all_it_had) {
    program_->cpus = target_.cpus;
    program_->hosts = target_.hosts;
  }
  keep_to(program_->cpus);
  if (done->is_done) {
    outcome.details["answer_s"] = std::chrono::duration<double>(done->time).count();
    outcome.details["pause_s"] = 0.0;  // it computes on
  }
  return outcome;
}

/// All its processes on this host.
void ScriptMethod::keep_to(const NodeSet& cpus) {
  if (!cpus.empty()) set_affinity_of_descendants(cpus);
}

}  // namespace ductile
