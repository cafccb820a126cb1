// Questions that take a while: children answer them, the controller goes on; errands.hpp.
#include <iostream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.hpp"
#include "live/controller.hpp"
#include "live/predict.hpp"

namespace ductile {

using Json = nlohmann::ordered_json;

/// Until it is answered nothing else that the client asks is read: answers come in order.
void Controller::ask_child(Client& client, Errands::Work work,
                           std::function<Json(const std::string&)> read) {
  const auto done = [this, id = client.id, read](std::optional<std::string> text) {
    Client* const found = find(id);
    if (found == nullptr) return;
    Client& asker = *found;
    Json answer;
    if (text) answer = read(*text);
    if (!answer.is_object()) {
      answer = {
          {"ok", false}, {"code", 1}, {"error", "that took too long, or could not be found out"}};
    }
    asker.is_asking = false;
    has_requests_ = true;  // it may have asked more meanwhile
    send(asker, line_of(answer));
  };
  if (!errands_.add(client.peer.user, std::move(work), done)) {
    throw Refused("too many questions of yours are open; ask again when they are answered");
  }
  client.is_asking = true;
}

/// The records are folded by a program of its own: they are read from the journal, which a copy of
/// this process must not touch.
void Controller::on_explain(Client& client, const Json& request) {
  const Json number = request.value("job", Json());
  if (!number.is_number_unsigned()) throw InputError("a job is a number", "see `ductile queue`");
  const auto row = journal_.job(number);
  if (!row) throw InputError("there is no job " + number.dump(), "see `ductile history`");
  if (row->owner.user != client.peer.user && !is_operator(client)) {
    throw Refused(fmt::format("job {} is not yours", row->number));
  }
  ask_child(
      client,
      [program = settings_.program, journal = settings_.state + "/journal.db",
       job = std::to_string(row->number)] {
        execl(program.c_str(), program.c_str(), "explain", "--json", "--log", journal.c_str(),
              job.c_str(), nullptr);
        _exit(1);
      },
      [this, id = id_of(row->number)](const std::string& text) {
        Json answer = Json::parse(text, nullptr, false);
        if (!answer.is_object()) return answer;
        answer["ok"] = true;
        const bool waits = jobs_.contains(id) && core_.job(id).status != Status::running;
        answer["queue_reason"] = waits ? Json(reason_of(id)) : Json();
        return answer;
      });
}

/// By a copy of this process, which has a copy of the core.
void Controller::on_predict(Client& client, const Json& request) {
  static constexpr Duration kMost = whole_seconds(10);
  const WhatIf change = what_if_from(request, core_, clock_.now());
  ask_child(
      client,
      [this, request, change] {
        std::cout << prediction(core_, clock_.now(), clock_.ahead(), request, change, kMost).dump()
                  << std::flush;
      },
      [](const std::string& text) { return Json::parse(text, nullptr, false); });
}

}  // namespace ductile
