// Questions that take a while: children answer them, the controller goes on;
// background_queries.hpp.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "live/check.hpp"
#include "live/controller.hpp"
#include "live/predict.hpp"
#include "report/explanation.hpp"

namespace ductile {

using Json = nlohmann::ordered_json;

namespace {

/// Clients wait for answers for longer (client.cpp).
constexpr std::chrono::seconds kPatience{20};

std::string said_at_alarm;  // NOLINT: for the handler of a signal, in a child

constexpr std::string_view kRefusal = R"({"ok":false,)";

Json refusal(const std::string& why) { return {{"ok", false}, {"code", 1}, {"error", why}}; }

/// In a child: this is all of its answer if SIGALRM comes.
void say_at_alarm(std::string text) {
  said_at_alarm = std::move(text);
  std::signal(SIGALRM, [](int) {
    BackgroundQueries::answer(said_at_alarm);
    _exit(0);
  });
}

}  // namespace

/// Until it is answered nothing else that the client asks is read: answers come in order.
void Controller::ask_child(Client& client, BackgroundQueries::Work work,
                           std::function<Json(const std::string&)> read) {
  if (process()) {
    work = [work = std::move(work),
            late = refusal(fmt::format("the policy {} took more than {} s for a pass",
                                       settings_.policy, to_seconds(settings_.policy_timeout)))] {
      say_at_alarm(late.dump());
      work();
    };
  }
  const auto done = [this, id = client.id, read](std::optional<std::string> text) {
    Client* const found = find(id);
    if (found == nullptr) return;
    Client& asker = *found;
    Json answer;
    if (text)
      answer = text->starts_with(kRefusal) ? Json::parse(*text, nullptr, false) : read(*text);
    if (!answer.is_object()) {
      std::string why = "that took too long, or could not be found out";
      if (process()) why += "; it asks the policy " + settings_.policy;
      answer = refusal(why);
    }
    asker.is_asking = false;
    has_requests_ = true;  // it may have asked more meanwhile
    send(asker, line_of(answer));
  };
  if (!queries_.add(client.peer.user, std::move(work), done,
                    {.patience = kPatience, .waits_too = true})) {
    throw Refused("too many questions of yours are open; ask again when they are answered");
  }
  client.is_asking = true;
}

namespace {

/// Around a time in a text, as microseconds: a copy of this process asks for no time zone.
constexpr char kTime = '\1';

std::string with_times(std::string_view text, const Explainer::TimeText& clock) {
  std::string result;
  while (!text.empty()) {
    result += next_part(text, kTime);
    if (text.empty()) break;
    const auto time = parse_number<std::int64_t>(next_part(text, kTime));
    result += clock(Time{Duration{time.value_or(0)}});
  }
  return result;
}

}  // namespace

/// How it stands is told by a copy of this process, which has the core; what was decided by the
/// program that it becomes then. That looks it up in the journal, which a copy of this process must
/// not touch.
void Controller::on_explain(Client& client, const Json& request) {
  const JobRow row = row_asked_for(request.value("job", Json()), "see `ductile history`");
  if (row.owner.user != client.peer.user && !is_operator(client)) {
    throw Refused(fmt::format("job {} is not yours", row.number));
  }
  ask_child(
      client,
      [this, number = row.number, id = row.id] {
        Explainer stands(number, [](Time time) {
          return kTime + std::to_string(time.time_since_epoch().count()) + kTime;
        });
        stands.begin(core_.state().platform, core_.state().capabilities, core_.state().rules);
        stands.stands(id, core_, [this](std::string_view) { return ruling_; });
        BackgroundQueries::answer(to_json(stands.explanation()) + "\n");
        BackgroundQueries::become({settings_.program, "explain", "--history", "--json", "--log",
                                   settings_.state + "/journal.db", std::to_string(number)});
      },
      [this, id = row.id](const std::string& text) {
        std::string_view rest = text;
        Json stands = Json::parse(next_part(rest, '\n'), nullptr, false);
        Json answer = Json::parse(rest, nullptr, false);
        if (!answer.is_object() || !stands.is_object()) return Json();
        const auto clock = wall_clock(clock_.wall(clock_.now()));
        for (Json& line : stands["now"]) {
          line["time_s"] = line["time_s"].get<double>() + to_seconds(clock_.ahead());
          line["text"] = with_times(line["text"].get<std::string>(),
                                    [&](Time time) { return clock(time + clock_.ahead()); });
        }
        const LiveJob* const its = jobs_.find(id);
        if (its != nullptr && !its->what().impossible.empty() && !stands["now"].empty()) {
          stands["now"][0]["text"] = "it cannot run here: " + its->what().impossible;
        }
        // It may have ended meanwhile.
        if (answer["state"] != "over") answer["now"] = stands["now"];
        answer["ok"] = true;
        const bool waits = jobs_.contains(id) && core_.job(id).status != Status::running;
        answer["queue_reason"] = waits ? Json(reason_of(id)) : Json();
        if (const auto process = policy_process()) answer["policy_process"] = *process;
        return answer;
      });
}

/// What was not looked at when it began, by a process of its own.
void Controller::check_all() {
  queries_.add(
      geteuid(),
      [program = settings_.program, folder = settings_.state] {
        BackgroundQueries::become({program, "check", "--state", folder});
      },
      [](const std::optional<std::string>& said) {
        if (said && said->ends_with(kAllIsSound)) {
          spdlog::info("what was written before was read again: {}",
                       kAllIsSound.substr(0, kAllIsSound.size() - 1));
        } else {
          spdlog::error("what was written before was read again:\n{}",
                        said.value_or("that took too long"));
        }
      },
      {.patience = std::chrono::minutes(10), .with_failures = true});
}

/// By a copy of this process, which has a copy of the core.
void Controller::on_predict(Client& client, const Json& request) {
  static constexpr Duration kMost{400'000};  // us
  const WhatIf change = what_if_from(request, core_, clock_.now(), registry_);
  if (const std::string what = core_.lacks(); !change.policy && !what.empty()) {
    throw Refused("nothing is decided: the cluster lacks what the policy needs, " + what);
  }
  std::optional<std::set<std::uint64_t>> wanted;
  if (const Json names = request.value("jobs", Json::array()); !names.empty()) {
    wanted.emplace();
    for (const JobName& name : names_in(names)) {
      for (const JobId id : jobs_named(name)) wanted->insert(number_of(id));
    }
  }
  ask_child(
      client,
      [this, wanted = std::move(wanted), change] {
        BackgroundQueries::answer(
            prediction(core_, *ruling_, clock_.now(), clock_.ahead(), wanted, change, kMost)
                .dump());
      },
      [](const std::string& text) { return Json::parse(text, nullptr, false); });
}

}  // namespace ductile
