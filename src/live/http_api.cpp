#include "live/http_api.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/poller.hpp"
#include "report/page_bundle.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

/// Questions that the controller has at a time, and of these those that take children of it.
constexpr int kMostAsked = 4, kMostSlowAsked = 2;
constexpr std::size_t kLongestQuestionAnswer = std::size_t{64} << 20;
/// How long an answer is good: at least, and so many times as long as it took.
constexpr auto kQuickAge = 1s, kSlowAge = 5s;
constexpr int kAgeOfTime = 5;
constexpr std::size_t kMostStreams = 64;
/// From one look at the journal to the next. What is written is seen later than its file changes:
/// once it is durable. So it is looked into, and not at the file.
constexpr auto kLookPause = 250ms;
/// A stream in which nothing happens says so.
constexpr auto kSilence = 15s;
/// Records that are looked at at once, and what a stream may have unread to be given more.
constexpr std::size_t kRecordsAtOnce = 1000, kMostBehind = std::size_t{256} << 10;

constexpr std::string_view kPage =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Ductile</title>\n<link rel=\"icon\" href=\"/icon.svg\">\n"
    "<link rel=\"stylesheet\" href=\"/dashboard.css\">\n"
    "<script src=\"/dashboard.js\" defer></script>\n</head>\n<body>\n<main id=\"page\">\n"
    "<noscript>This page is drawn by a script; ask /api/v1 without.</noscript>\n"
    "</main>\n</body>\n</html>\n";
constexpr std::string_view kIcon =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><rect width=\"16\" "
    "height=\"16\" rx=\"3\" fill=\"#0064a8\"/><path d=\"M3 5h7M3 8h10M3 11h5\" stroke=\"#fff\" "
    "stroke-width=\"2\"/></svg>\n";

struct File {
  std::string_view path, type, text;
};

const File* file_at(const std::string& path) {
  static const std::array<File, 4> files{{
      {"/", "text/html; charset=utf-8", kPage},
      {"/dashboard.css", "text/css; charset=utf-8", dashboard_style()},
      {"/dashboard.js", "text/javascript; charset=utf-8", dashboard_script()},
      {"/icon.svg", "image/svg+xml", kIcon},
  }};
  const auto* const found = std::ranges::find(files, path, &File::path);
  return found == files.end() ? nullptr : found;
}

std::string line_from(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double now_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// What the controller refuses, as HTTP says it.
HttpError refusal(const HttpCall& call, const Json& answer) {
  const std::string said = answer.value("error", std::string("the controller gives no reason"));
  const std::size_t split = said.rfind("; ");
  const int code = answer.value("code", 1);
  const bool writes = call.route->writes();
  const bool is_of_no_job = !call.job.is_null() && (!writes || said.starts_with("there is no job"));
  const int status = code == 2   ? (is_of_no_job ? 404 : 400)
                     : code == 1 ? (writes ? 409 : 503)
                                 : 503;
  if (split == std::string::npos) return {status, said, "see docs/formats/http.md"};
  return {status, said.substr(0, split), said.substr(split + 2)};
}

Json gone(const std::string& why) {
  return {{"ok", false}, {"code", 3}, {"error", why + "; ask again when `ductile serve` is there"}};
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

std::string event_text(const EventPosition& at, std::string_view kind, const std::string& data) {
  std::string text = "id: " + to_text(at) + "\n";
  if (!kind.empty()) text.append("event: ").append(kind).append("\n");
  return text.append("data: ").append(data).append("\n\n");
}

}  // namespace

HttpApi::HttpApi(HttpSettings settings, Descriptor listener)
    : settings_(std::move(settings)), host_(host_name()), server_(std::move(listener), *this) {}

HttpApi::~HttpApi() = default;

// ---- Who asks, and for what ---------------------------------------------------------------------

bool HttpApi::check(const HttpRequest& request) {
  const std::string_view host = request.field("host");
  if (!host.empty() && !is_name_of_this_host(host, host_)) {
    throw HttpError(421, "this host is not called so",
                    "use its numeric address, its name, or localhost");
  }
  if (file_at(request.path) != nullptr) {
    if (request.method == "GET" || request.method == "HEAD") return false;
    throw HttpError(405, request.method + " is not for this address", "use GET");
  }
  // Who shows no token does not learn what there is.
  const auto shown = bearer_token(request.field("authorization"));
  const std::string_view token = shown.value_or(std::string_view());
  const bool writes =
      !settings_.write_token.empty() && are_same_secret(settings_.write_token, token);
  const bool reads = are_same_secret(settings_.token, token) || writes;
  const bool is_open = request.path == std::string(kHttpRoot) + "/openapi.json";
  if (!reads && !is_open) {
    throw HttpError(
        401, shown ? "that token is not known" : "there is no token",
        "send Authorization: Bearer TOKEN, with the one in the file of `serve --http-token`");
  }
  const HttpCall call = http_call(request);
  if (!call.route->writes()) return reads;
  if (settings_.write_token.empty()) {
    throw HttpError(403, "this is to be read only", "start it with --http-write");
  }
  if (!writes) {
    throw HttpError(403, "this token is for reading",
                    "send the other one, in the file that ends with .write");
  }
  if (call.route->path == "/jobs" && geteuid() == 0) {
    throw HttpError(403, "root submits no jobs by HTTP, for they would be root's",
                    "use `ductile submit`, or a `ductile http` of your own");
  }
  if (!call.route->body.is_null() &&
      media_type(request.field("content-type")) != "application/json") {
    throw HttpError(415, "the body is no JSON", "send Content-Type: application/json");
  }
  return true;
}

void HttpApi::on_request(HttpServer::Id id, const HttpRequest& request) {
  if (const File* const file = file_at(request.path)) {
    return server_.reply(id, {.type = std::string(file->type), .body = std::string(file->text)});
  }
  HttpCall call = http_call(request);
  call.now_s = now_s();
  if (call.route->kind == HttpRoute::Kind::description) {
    static const std::string text = open_api().dump();
    return server_.reply(id, {.body = text});
  }
  if (call.route->kind == HttpRoute::Kind::stream) return begin_stream(id, request);
  if (call.route->questions == nullptr) return answer(id, call, {});
  Waiting waiting;
  auto patience = settings_.quick_patience;
  for (const Json& question : call.route->questions(call)) {
    const std::string& verb = question["do"].get_ref<const std::string&>();
    const std::string text = line_from(question);
    const bool is_slow = verb == "explain" || verb == "predict";
    if (is_slow) patience = settings_.slow_patience;
    const auto kept = kept_.find(text);
    if (!call.route->writes() && kept != kept_.end() && Steady::now() < kept->second.until) {
      waiting.questions.push_back(0);
      waiting.answers.push_back(kept->second.answer);
    } else {
      waiting.questions.push_back(ask(text, is_slow, call.route->writes()));
      waiting.answers.emplace_back();
    }
  }
  waiting.until = Steady::now() + patience;
  waiting.call = std::move(call);
  waiting_.insert_or_assign(id, std::move(waiting));
  answer_if_all(id);
}

/// It may be in the middle of something that is done for it.
void HttpApi::on_gone(HttpServer::Id id) { gone_.insert(id); }

void HttpApi::forget() {
  if (gone_.empty()) return;
  for (const HttpServer::Id id : std::exchange(gone_, {})) {
    waiting_.erase(id);
    streams_.erase(id);
  }
  // What is not begun, and nobody waits for, is not asked.
  std::set<std::uint64_t> wanted;
  for (const auto& [id, waiting] : waiting_)
    wanted.insert(waiting.questions.begin(), waiting.questions.end());
  std::erase_if(questions_, [&](const Question& each) {
    return each.connection == nullptr && !wanted.contains(each.number);
  });
}

/// Who has waited long enough is told so, whether it was his turn or not.
void HttpApi::give_up() {
  const auto now = Steady::now();
  for (const auto& entry : waiting_) {
    const HttpServer::Id id = entry.first;
    const Waiting& waiting = entry.second;
    if (now < waiting.until) continue;
    const auto is_begun = [&waiting](const Question& each) {
      return each.connection != nullptr && each.number == waiting.questions.front();
    };
    const bool may_change =
        waiting.call.route->writes() && std::ranges::any_of(questions_, is_begun);
    server_.reply(id, answer_of(HttpError(503,
                                          may_change ? "the controller does not answer; it may "
                                                       "still do what it was told"
                                                     : "the controller does not answer",
                                          "ask again when `ductile serve` is there")));
    gone_.insert(id);
  }
  forget();
}

// ---- The controller -----------------------------------------------------------------------------

/// The number of the question: of one that is there already, if its answer will be as new.
std::uint64_t HttpApi::ask(const std::string& text, bool is_slow, bool changes) {
  const auto is_as_good = [&](const Question& each) {
    const bool is_new = each.connection == nullptr || each.changes_before == changes_;
    return each.text == text && !each.is_over && is_new;
  };
  const auto same = std::ranges::find_if(questions_, is_as_good);
  if (!changes && same != questions_.end()) return same->number;
  questions_.push_back(
      {.number = next_question_++, .text = text, .is_slow = is_slow, .changes = changes});
  return questions_.back().number;
}

void HttpApi::begin_questions() {
  const auto is_asked = [](const Question& each) { return each.connection != nullptr; };
  const auto is_slow = [&](const Question& each) { return is_asked(each) && each.is_slow; };
  auto asked = std::ranges::count_if(questions_, is_asked);
  auto slow = std::ranges::count_if(questions_, is_slow);
  for (Question& question : questions_) {
    if (is_asked(question) || question.is_over || asked >= kMostAsked) continue;
    if (question.is_slow && slow >= kMostSlowAsked) continue;
    question.begun = Steady::now();
    question.changes_before = changes_;
    try {
      question.connection = std::make_unique<LineSocket>(
          connect_unix(settings_.socket), kLongestQuestionAnswer, HttpReader::kMostBody + 65536);
      question.connection->send(question.text);
      ++asked;
      slow += question.is_slow ? 1 : 0;
    } catch (const std::exception& error) {
      question.is_over = true;
      come(question, gone("the controller cannot be asked"));
      spdlog::debug("the controller cannot be asked: {}", error.what());
    }
  }
  std::erase_if(questions_, [](const Question& each) { return each.is_over; });
}

void HttpApi::hear_answers() {
  for (Question& question : questions_) {
    if (!question.connection) continue;
    if (const auto line = question.connection->next()) {
      question.is_over = true;
      Json answer = Json::parse(*line, nullptr, false);
      come(question,
           answer.is_object() ? std::move(answer) : gone("the controller's answer is none"));
    } else if (question.connection->is_closed()) {
      question.is_over = true;
      come(question, gone("the controller ended without an answer"));
    } else if (Steady::now() > question.begun + (question.is_slow ? settings_.slow_patience
                                                                  : settings_.quick_patience)) {
      question.is_over = true;
      come(question, gone("the controller does not answer"));
    }
  }
  std::erase_if(questions_, [](const Question& each) { return each.is_over; });
}

/// To all who wait for it. It is kept, unless something has changed since it was asked.
void HttpApi::come(const Question& question, Json answer) {
  const auto its = std::make_shared<const Json>(std::move(answer));
  const auto now = Steady::now();
  if (question.changes) {
    kept_.clear();
    ++changes_;
  } else if (question.changes_before == changes_) {
    const bool is_good = its->value("ok", false);
    const Steady::duration least =
        question.is_slow && is_good ? Steady::duration(kSlowAge) : kQuickAge;
    const Steady::duration took = is_good ? now - question.begun : Steady::duration{};
    kept_[question.text] = {its, now + std::max(least, kAgeOfTime * took)};
  }
  std::vector<HttpServer::Id> those;
  for (auto& [id, waiting] : waiting_) {
    for (std::size_t i = 0; i < waiting.questions.size(); ++i) {
      if (waiting.questions[i] != question.number) continue;
      waiting.questions[i] = 0;
      waiting.answers[i] = its;
      those.push_back(id);
    }
  }
  for (const HttpServer::Id id : those) answer_if_all(id);
}

void HttpApi::answer_if_all(HttpServer::Id id) {
  const auto at = waiting_.find(id);
  if (at == waiting_.end()) return;
  if (std::ranges::any_of(at->second.answers, [](const Answer& its) { return !its; })) return;
  const Waiting waiting = std::move(at->second);
  waiting_.erase(at);
  answer(id, waiting.call, waiting.answers);
}

void HttpApi::answer(HttpServer::Id id, const HttpCall& call, std::vector<Answer> answers) {
  try {
    for (const Answer& its : answers) {
      // A prediction may fail where the queue does not.
      const bool is_needed = its == answers.front() || !call.route->needs_first_only;
      if (is_needed && !its->value("ok", false)) throw refusal(call, *its);
    }
    const HttpRoute::Sources sources{.answers = std::move(answers),
                                     .journal = settings_.journal,
                                     .can_write = !settings_.write_token.empty()};
    server_.reply(id, {.body = line_from(call.route->answer(call, sources))});
  } catch (const HttpError& error) {
    server_.reply(id, answer_of(error));
  } catch (const std::exception& error) {
    spdlog::warn("{} cannot be answered: {}", call.request.path, error.what());
    server_.reply(id,
                  answer_of(HttpError(503, std::string("it cannot be found out: ") + error.what(),
                                      "ask again; see `ductile check`")));
  }
}

// ---- What happens -------------------------------------------------------------------------------

void HttpApi::begin_stream(HttpServer::Id id, const HttpRequest& request) {
  if (streams_.size() >= kMostStreams)
    throw HttpError(503, "too many listen already", "come again later");
  const std::string_view last = request.field("last-event-id");
  const auto wanted = parse_event_position(last);
  if (!last.empty() && !wanted) {
    throw HttpError(400, "Last-Event-ID is none that was sent",
                    "send the `id` of an event, or leave it out");
  }
  EventPosition end;
  try {
    end = Happenings(settings_.journal).end();
  } catch (const std::exception& error) {
    throw HttpError(503, std::string("the journal cannot be read: ") + error.what(),
                    "come again later");
  }
  const bool goes_on = wanted && wanted->journal == end.journal && wanted->record <= end.record;
  server_.stream(id, "text/event-stream");
  const std::string data = line_from({{"record", end.record}});
  if (!wanted) server_.send(id, "retry: 2000\n" + event_text(end, "begin", data));
  if (wanted && !goes_on) server_.send(id, "retry: 2000\n" + event_text(end, "reset", data));
  streams_[id] = {.at = goes_on ? *wanted : end, .heard = Steady::now()};
  look_at_ = {};
}

void HttpApi::feed_streams() {
  const auto now = Steady::now();
  if (streams_.empty() || now < look_at_) return;
  look_at_ = now + kLookPause;
  for (auto& [id, stream] : streams_) {
    if (now < stream.heard + kSilence) continue;
    stream.heard = now;
    server_.send(id, ": nothing new\n\n");
  }
  const auto warn = [this](const std::exception& error) {
    if (!std::exchange(has_warned_, true))
      spdlog::warn("the journal cannot be read: {}", error.what());
  };
  std::optional<Happenings> happenings;
  EventPosition end;
  try {
    end = happenings.emplace(settings_.journal).end();
  } catch (const std::exception& error) {  // as while it is made anew
    return warn(error);
  }
  using Row = std::pair<std::uint64_t, std::string>;
  std::map<std::uint64_t, std::vector<Row>> texts;  // many listen, and most are equally far
  bool is_read = true;
  for (auto& [id, stream] : streams_) {
    try {
      if (stream.at.journal != end.journal || stream.at.record > end.record) {
        server_.send(id, event_text(end, "reset", line_from({{"record", end.record}})));
        stream.at = end;
      }
      if (stream.at.record == end.record) continue;
      if (server_.unread(id) > kMostBehind) continue;  // there is more, for later
      const auto [rows, is_new] = texts.try_emplace(stream.at.record);
      if (is_new) {
        for (const auto& [record, row] : happenings->after(stream.at.record, kRecordsAtOnce)) {
          rows->second.emplace_back(record, event_text({end.journal, record}, "", line_from(row)));
        }
      }
      std::string text;
      std::uint64_t until = std::min(end.record, stream.at.record + kRecordsAtOnce);
      for (const auto& [record, its] : rows->second) {
        text += its;
        if (text.size() <= kMostBehind) continue;
        until = record;  // more at once would be more than it may be behind
        break;
      }
      if (!text.empty()) server_.send(id, text);
      stream.heard = now;
      stream.at.record = until;
      if (stream.at.record != end.record) look_at_ = {};  // and go on at once
    } catch (const std::exception& error) {  // it may come again, and go on where it was
      warn(error);
      is_read = false;
      texts.erase(stream.at.record);
      server_.close(id);
    }
  }
  if (is_read) has_warned_ = false;
}

void HttpApi::turn(std::chrono::milliseconds most) {
  Poller poller;
  server_.add_to(poller);
  for (const Question& each : questions_) {
    if (!each.connection || each.connection->is_closed()) continue;
    LineSocket* const connection = each.connection.get();
    poller.add(connection->descriptor(), connection->events(),
               [connection] { connection->work(); });
  }
  auto until = std::min(Steady::now() + most, server_.next());
  if (!streams_.empty()) until = std::min(until, look_at_);
  for (const auto& [id, waiting] : waiting_) until = std::min(until, waiting.until);
  poller.wait(std::max(until - Steady::now(), Steady::duration{}));
  forget();
  hear_answers();
  give_up();
  server_.look();
  begin_questions();
  feed_streams();
  forget();
  const auto now = Steady::now();
  std::erase_if(kept_, [&](const auto& entry) { return now >= entry.second.until; });
}

}  // namespace ductile
