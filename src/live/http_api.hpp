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
  /// So long after it was asked, a question of which nothing has come is answered with that.
  std::chrono::milliseconds quick_patience{30'000}, slow_patience{75'000};
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
    std::uint64_t number = 0;
    std::string text{};
    bool is_slow = false;  // a child of the controller answers it
    bool changes = false;  // something: it is asked for each who says so
    bool is_over = false;
    std::unique_ptr<LineSocket> connection{};  // once it is begun
    Steady::time_point begun{};
    std::uint64_t changes_before = 0;  // it was begun
  };
  /// An answer is good for all who ask the same a moment later.
  struct Kept {
    Answer answer{};
    Steady::time_point until{};
  };
  /// A call, while answers are missing.
  struct Waiting {
    HttpCall call{};
    std::vector<std::uint64_t> questions{};  // their numbers; 0: answered
    std::vector<Answer> answers{};
    Steady::time_point until{};
  };
  struct Stream {
    EventPosition at{};
    Steady::time_point heard{};  // it, the last time
  };

  std::uint64_t ask(const std::string& text, bool is_slow, bool changes);
  void begin_questions();
  void hear_answers();
  void come(const Question& question, Json answer);
  void answer_if_all(HttpServer::Id id);
  void answer(HttpServer::Id id, const HttpCall& call, std::vector<Answer> answers);
  void begin_stream(HttpServer::Id id, const HttpRequest& request);
  void feed_streams();
  void forget();
  void give_up();

  HttpSettings settings_;
  std::string host_{};  // its name
  std::list<Question> questions_{};
  std::uint64_t next_question_ = 1;
  std::uint64_t changes_ = 0;  // that have been answered: what was asked before may be old
  std::map<std::string, Kept> kept_{};
  std::map<HttpServer::Id, Waiting> waiting_{};
  std::map<HttpServer::Id, Stream> streams_{};
  std::set<HttpServer::Id> gone_{};
  Steady::time_point look_at_{};  // into the journal, if there is a stream
  bool has_warned_ = false;       // that it cannot be read
  HttpServer server_;
};

}  // namespace ductile
