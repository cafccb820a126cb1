#include "job/script_steps.hpp"

#include <utility>

#include <fmt/format.h>

#include "job/json_line.hpp"

namespace ductile {

void ScriptSteps::begin(ControlClient& client, const Json& id) {
  Json reply = {{"ok", false}};
  if (!id.is_null()) reply["id"] = id;
  if (settings_.kind != JobKind::steps) {
    reply["error"] = "the job is no script with steps";
  } else if (is_running()) {
    reply["error"] = "another step of this job runs; they go one after another";
  } else {
    client.is_step = true;
    reply.update({{"ok", true},
                  {"size", size_},
                  {"max", settings_.max},
                  {"cores", settings_.step_cores},
                  {"cpus", to_string(cpus_)}});
  }
  ControlClients::tell(client, reply);
}

bool ScriptSteps::is_running() {
  ControlClient* const step = clients_.step();
  if (step == nullptr) return false;
  do {
    while (const auto line = step->lines.next()) on_line(*line);
  } while (step->lines.work());
  if (!step->lines.is_closed()) return true;
  step->is_step = false;
  look_after();
  return false;
}

void ScriptSteps::order(ControlClient& client, const Order& order, bool has_ended) {
  Json reply = {{"ok", false}, {"size", size_}};
  if (!order.id.is_null()) reply["id"] = order.id;
  if (order.verb == Order::Verb::answer) {
    reply["error"] = "a script asks for nothing";
  } else if (order_ || has_ended) {
    reply["error"] = has_ended ? "the job has ended" : "a resize is under way";
  } else if (order.size < settings_.min || order.size > settings_.max) {
    reply["error"] = fmt::format("{} is not between {} and {} processes", order.size, settings_.min,
                                 settings_.max);
  } else {
    cpus_before_ = cpus_;
    if (!order.cpus.empty()) cpus_ = order.cpus;
    clients_.await(client, order.id);
    order_ = order.size;
    ControlClient* const step = clients_.step();
    if (step == nullptr) return end_order(true, Json::object());
    Json passed = {{"do", "resize"}, {"size", order.size}};
    if (!order.cpus.empty()) passed["cpus"] = to_string(order.cpus);
    if (!order.hosts.empty()) passed["hosts"] = to_text(order.hosts);
    if (order.moves) passed["move"] = true;
    return ControlClients::tell(*step, passed);
  }
  ControlClients::tell(client, reply);
}

void ScriptSteps::withdraw() {
  // Who ordered it hears that it was given up, unless it is done already.
  ControlClient* const step = clients_.step();
  if (order_ && step != nullptr) ControlClients::tell(*step, {{"do", "withdraw"}});
}

void ScriptSteps::on_line(const std::string& line) {
  Json json = parse_json_line(line);
  if (!json.is_object()) return;
  if (const auto event = json.find("event"); event != json.end()) {
    // Of how it began and ended the script makes what it likes.
    if (*event == "resized" || *event == "aborted") clients_.tell_watchers(json);
  } else if (order_) {
    // Before it is moved away: the order of a call's arguments is the compiler's.
    const bool ok = json.value("ok", Json()) == true;
    end_order(ok, std::move(json));
  }
}

void ScriptSteps::look_after() {
  if (order_ && clients_.step() == nullptr) end_order(true, Json::object());
}

void ScriptSteps::end_order(bool ok, Json details) {
  if (ok) {
    size_ = *order_;
  } else {
    cpus_ = cpus_before_;
  }
  order_.reset();
  details["ok"] = ok;
  details["size"] = size_;
  details["cpus"] = to_string(cpus_);
  details.erase("id");
  clients_.answer(ok, details);
}

}  // namespace ductile
