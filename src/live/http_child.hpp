// The process that answers HTTP for a controller: `ductile http`, its child, which asks it as
// anybody else does. So no client of HTTP keeps the controller waiting.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "job/socket.hpp"
#include "live/restarts.hpp"
#include "live/serve.hpp"

namespace ductile {

class HttpChild {
 public:
  /// Listens and starts it. Throws InputError if it cannot listen there, or a token's file is not
  /// as it should be.
  explicit HttpChild(const ServeSettings& settings);
  /// Ends it.
  ~HttpChild();
  HttpChild(const HttpChild&) = delete;
  HttpChild& operator=(const HttpChild&) = delete;

  /// Starts it again if it has ended.
  void look();
  /// When `look` has something to do, unless it ends.
  std::optional<std::chrono::steady_clock::time_point> next() const;

 private:
  using Steady = std::chrono::steady_clock;
  void start();

  std::string program_{};
  std::vector<std::string> call_{};
  Descriptor listener_{};  // connections wait there while there is no child
  pid_t child_ = -1;
  Steady::time_point started_{}, start_at_{};
  Restarts restarts_{std::chrono::milliseconds(200), std::chrono::seconds(30),
                     std::chrono::seconds(60)};
};

/// The files of the tokens for HTTP: for reading; and for writing, empty if nobody may.
struct HttpTokenFiles {
  std::string read{}, write{};
};
HttpTokenFiles http_token_files(const std::string& given, const std::string& state, bool can_write);

}  // namespace ductile
