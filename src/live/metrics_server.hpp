// Where a scraper gets the metrics: `GET /metrics` at a TCP port.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "job/poller.hpp"
#include "job/socket.hpp"

namespace httplib {
class Server;
}

namespace ductile {

/// "HOST:PORT", "PORT" of this machine alone, or "[::1]:PORT". Throws InputError.
std::pair<std::string, std::uint16_t> parse_address(const std::string& text);

/// Answers in threads of its own, which wait for the one that has the metrics.
class MetricsServer {
 public:
  /// Throws InputError if it cannot listen there.
  explicit MetricsServer(const std::string& address);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  /// `write` is called by the thread that polls, whenever somebody waits.
  void add_to(Poller& poller, const std::function<std::string()>& write);

 private:
  std::future<std::string> ask();

  std::unique_ptr<httplib::Server> server_;
  Descriptor wake_;
  std::mutex mutex_;
  std::vector<std::promise<std::string>> waiting_;
  std::thread thread_;
};

}  // namespace ductile
