// What can be asked by HTTP: one table, by which requests are found, answered and described.
// docs/formats/http.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "live/http_request.hpp"

namespace ductile {

struct HttpRoute;

/// A request for something that there is.
struct HttpCall {
  HttpRequest request{};
  const HttpRoute* route = nullptr;
  nlohmann::ordered_json job{};  // that the address names, as the controller is asked for it
  double now_s = 0;              // when it came
};

struct HttpRoute {
  using Json = nlohmann::ordered_json;
  /// What of it is answered otherwise than by `answer`.
  enum class Kind : std::uint8_t { json, stream, description };
  struct Parameter {
    std::string_view name{}, type{}, what{};
  };
  /// What an answer is made of.
  struct Sources {
    std::vector<std::shared_ptr<const Json>> answers{};  // of the controller, to `questions`
    std::string journal{};                               // its file
    bool can_write = false;                              // somebody
  };

  std::string_view method{}, path{}, summary{};
  std::vector<Parameter> parameters{};
  Json schema{};  // of the answer
  /// To the controller. Throws HttpError.
  std::vector<Json> (*questions)(const HttpCall& call) = nullptr;
  /// Throws HttpError, and what `Journal` throws.
  Json (*answer)(const HttpCall& call, const Sources& sources) = nullptr;
  Kind kind = Kind::json;
  Json body{};  // schema of what is sent; null: nothing
  /// Only the first answer has to be one; the others tell more.
  bool needs_first_only = false;

  bool writes() const { return method == "POST"; }
};

constexpr std::string_view kHttpRoot = "/api/v1";

const std::vector<HttpRoute>& http_routes();

/// What is asked for. Throws HttpError: there is nothing of that name, or it is not asked for so.
HttpCall http_call(const HttpRequest& request);

/// What can be asked, as OpenAPI 3.1 says it.
nlohmann::ordered_json open_api();

}  // namespace ductile
