#include "job/script_driver.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "job/process.hpp"

namespace ductile {

ScriptDriver::ScriptDriver(const RunSettings& settings, ProcessTable& table, NodeSet& cpus,
                           const std::string& folder, Outside outside)
    : settings_(settings),
      table_(table),
      cpus_(cpus),
      outside_(std::move(outside)),
      channel_(folder, {settings.size, settings.cpus, settings.launcher.hosts}),
      orders_(settings.size, settings.script.ack_timeout) {}

void ScriptDriver::add_to(Poller& poller) {
  channel_.forget_closed();
  channel_.add_to(poller, [this](const ScriptWord& word) { return on_word(word); });
}

std::optional<std::string> ScriptDriver::objection(const Wish& wish) const {
  if (wish.suspends) return "a program that stays cannot be suspended";
  const Generation& now = table_.current();
  const std::vector<Host>& hosts = wish.hosts.empty() ? now.hosts : wish.hosts;
  if (!hosts.empty() && wish.size > slots_of(hosts)) {
    return fmt::format("the hosts take {} processes", slots_of(hosts));
  }
  if (wish.size < settings_.min || wish.size > settings_.max) {
    return fmt::format("{} processes are not between {} and {}", wish.size, settings_.min,
                       settings_.max);
  }
  if (is_ending_) return "the job has ended";
  if (is_ordered()) return "a resize is under way";
  if (wish.size == now.size && !wish.moves) {
    return fmt::format("the job has {} processes already", now.size);
  }
  if (orders_.state() == ScriptOrders::State::recalled) {
    return fmt::format("the program has not answered that it was to have {} again", now.size);
  }
  return std::nullopt;
}

void ScriptDriver::order(const Wish& wish) {
  Generation& program = table_.current();
  hosts_ = wish.hosts.empty() ? program.hosts : wish.hosts;
  // Until it has answered it may have either.
  keep_to(cpus_.empty() || program.cpus.empty() ? cpus_ : united(program.cpus, cpus_));
  spdlog::info("the program is to go from {} to {}", program.size, wish.size);
  orders_.ask(wish.size, Clock::now());
  tell({wish.size, cpus_, hosts_});
}

void ScriptDriver::tell(const ScriptPlace& place) {
  channel_.tell(place);
  const Generation& program = table_.current();
  if (settings_.script.signal != 0 && !program.status) {
    kill(program.process.pid, settings_.script.signal);
  }
}

std::string ScriptDriver::on_word(const ScriptWord& word) {
  if (is_ending_) return "the job is to end";
  const auto now = Clock::now();
  std::string why_not =
      word.refuses ? orders_.on_refusal(word.why, now) : orders_.on_size(word.size, now);
  conclude();
  return why_not;
}

void ScriptDriver::give_up(const std::string& reason) {
  if (!is_ordered()) return;
  orders_.recall(reason, Clock::now());
  conclude();
  const Generation& program = table_.current();
  tell({program.size, program.cpus, program.hosts});
}

void ScriptDriver::on_end(const std::string& reason) {
  is_ending_ = true;
  orders_.end(reason, Clock::now());
  conclude();
}

void ScriptDriver::keep_deadlines(Clock::time_point now) {
  if (now < orders_.deadline()) return;
  give_up(fmt::format("the program has not answered for {:.1f} s",
                      std::chrono::duration<double>(settings_.script.ack_timeout).count()));
}

/// The order is answered.
void ScriptDriver::conclude() {
  const auto outcome = orders_.take_outcome();
  if (!outcome) return;
  Generation& program = table_.current();
  Json details = {{"generation", program.number}, {"from", outcome->from}, {"to", outcome->to}};
  if (outcome->is_done) {
    ++resizes_;
    // Who gives back a part only is on all that it had.
    const bool gives_less = outcome->size > outcome->to;
    if (gives_less) cpus_ = program.cpus;
    program.size = outcome->size;
    program.cpus = cpus_;
    if (!gives_less) program.hosts = hosts_;
    spdlog::info("the program has gone from {} to {}", outcome->from, outcome->size);
  } else {
    cpus_ = program.cpus;
    spdlog::warn("the resize from {} to {} was given up: {}", outcome->from, outcome->to,
                 outcome->error);
  }
  keep_to(cpus_);
  details["size"] = outcome->size;
  details["cpus"] = to_string(program.cpus);
  if (!program.hosts.empty()) {
    Json hosts = Json::object();
    for (const Host& host : place(program.hosts, program.size)) hosts[host.name] = host.slots;
    details["hosts"] = std::move(hosts);
  }
  if (outcome->is_done) {
    details["answer_s"] = std::chrono::duration<double>(outcome->time).count();
    details["pause_s"] = 0.0;  // it computes on
  } else {
    details["error"] = outcome->error;
  }
  outside_.report(outcome->is_done ? "resized" : "aborted", details);
  outside_.answer(outcome->is_done, details);
}

/// All its processes on this host.
void ScriptDriver::keep_to(const NodeSet& cpus) const {
  if (!cpus.empty()) move_descendants(table_.current().marks, cpus);
}

}  // namespace ductile
