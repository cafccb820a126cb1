// The controller by HTTP: what is asked becomes its ordinary questions, by its socket, and lookings
// into its journal. A process of its own does this: whatever clients do, no pass waits for them.
// docs/formats/http.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "job/line_socket.hpp"
#include "job/socket.hpp"
#include "live/happenings.hpp"
#include "live/http_request.hpp"
#include "live/http_routes.hpp"
#include "live/http_server.hpp"

namespace ductile {

struct HttpSettings {
  std::string socket{};       // of the controller
  std::string journal{};      // its file
  std::string token{};        // of those who may read
  std::string write_token{};  // of those who may change something as well; empty: nobody
};

class HttpApi final : public HttpServer::Handler {
 public:
  HttpApi(HttpSettings settings, Descriptor listener);
  ~HttpApi() override;

  /// Waits for something to do, for so long at most, and does it.
  void turn(std::chrono::milliseconds most);

  bool check(const HttpRequest& request) override;
  void on_request(HttpServer::Id id, const HttpRequest& request) override;
  void on_gone(HttpServer::Id id) override;

 private:
  using Json = nlohmann::ordered_json;
  using Steady = std::chrono::steady_clock;
  using Answer = std::shared_ptr<const Json>;

  /// To the controller.
  struct Question {
    std::string text{};
    bool is_slow = false;  // a child of the controller answers it
    bool changes = false;  // something: it is asked for each who says so
    bool is_over = false;
    std::unique_ptr<LineSocket> connection{};
    Steady::time_point begun{};
  };
  /// An answer is good for all who ask the same a moment later.
  struct Kept {
    Answer answer{};
    Steady::time_point until{};
  };
  /// A call, while answers are missing.
  struct Waiting {
    HttpCall call{};
    std::vector<std::string> questions{};
    std::vector<Answer> answers{};
  };
  struct Stream {
    EventPosition at{};
    Steady::time_point heard{};  // it, the last time
  };

  void ask(const std::string& text, bool is_slow, bool changes);
  void begin_questions();
  void hear_answers();
  void come(const Question& question, Json answer);
  void answer_if_all(HttpServer::Id id);
  void answer(HttpServer::Id id, const HttpCall& call, std::vector<Answer> answers);
  void begin_stream(HttpServer::Id id, const HttpRequest& request);
  void feed_streams();
  void forget();

  HttpSettings settings_;
  std::string host_{};  // its name
  std::list<Question> questions_{};
  std::map<std::string, Kept> kept_{};
  std::map<HttpServer::Id, Waiting> waiting_{};
  std::map<HttpServer::Id, Stream> streams_{};
  std::set<HttpServer::Id> gone_{};
  Steady::time_point look_at_{};  // into the journal, if there is a stream
  HttpServer server_;
};

}  // namespace ductile
