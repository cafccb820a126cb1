// What other hosts of a job draw, as files there say: each is read on its host, by a shell that
// what starts processes there starts.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "job/line_socket.hpp"
#include "job/poller.hpp"

namespace ductile {

class HostWatts {
 public:
  /// Each host that is asked reads its file so often.
  HostWatts(std::string agent, std::chrono::milliseconds every);
  HostWatts(const HostWatts&) = delete;
  HostWatts& operator=(const HostWatts&) = delete;
  ~HostWatts();

  /// What this file has there, or why it cannot be read; nothing before the first answer. Who is
  /// not asked yet is from now on, and who has not answered for long is asked anew.
  std::optional<std::string> text(const std::string& host, const std::string& path);
  /// Those that are not among these are asked no more.
  void keep(const std::vector<std::string>& hosts);
  void add_to(Poller& poller);
  /// A child of this process has ended; was it one of ours?
  bool on_ended(pid_t pid);

 private:
  using Clock = std::chrono::steady_clock;
  struct Reader {
    std::string path{};
    pid_t pid = -1;
    LineSocket lines;
    Clock::time_point heard{};  // or begun
    std::optional<std::string> last{};
  };

  void begin(const std::string& host, const std::string& path);
  static void end(const Reader& reader);
  static void hear(Reader& reader);

  std::string agent_;
  std::chrono::milliseconds every_;
  std::map<std::string, Reader> readers_{};
};

}  // namespace ductile
