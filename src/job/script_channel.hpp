// How a program that has no library of ours hears which size it is to have, and says what it has:
// by lines on a descriptor, by a file that always has the last of these lines, and by the command
// `ductile ack`, which finds a socket. All are in the folder of the job, which no other user may
// enter. docs/commands/run.md ("Any program") has the lines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_set.hpp"
#include "job/control_clients.hpp"
#include "job/launcher.hpp"
#include "job/line_socket.hpp"
#include "job/poller.hpp"
#include "job/socket.hpp"

namespace ductile {

/// Where `ductile ack` finds the manager.
inline constexpr const char* kAckVariable = "DUCTILE_ACK";
/// And a program the descriptor, and the file.
inline constexpr const char* kResizeVariable = "DUCTILE_RESIZE_FD";
inline constexpr const char* kResizeFileVariable = "DUCTILE_RESIZE_FILE";
/// The size of a program at its start.
inline constexpr const char* kSizeVariable = "DUCTILE_SIZE";

/// What a program may have: "4 0-3 h1:2,h2:2", its processors and hosts "-" where none were chosen.
struct ScriptPlace {
  std::uint32_t size = 1;
  NodeSet cpus{};
  std::vector<Host> hosts{};
};
std::string to_line(const ScriptPlace& place);

/// What it says.
struct ScriptWord {
  std::optional<std::uint32_t> size{};  // nothing: what it was told
  bool refuses = false;
  std::string why{};
};
/// "4", "ok", "refuse WHY"; nothing if it is none of these.
std::optional<ScriptWord> parse_script_word(std::string_view line);

class ScriptChannel {
 public:
  /// `folder`: of the job. std::system_error.
  ScriptChannel(const std::string& folder, const ScriptPlace& first);

  /// By which the program finds it all.
  Variables variables() const;
  /// The end of the program, which is to be given to it, and then let go here.
  const Descriptor& of_program() const { return of_program_; }
  void let_go() { of_program_.reset(); }
  /// Where `ductile ack` finds this.
  const std::string& socket() const { return socket_; }

  /// Writes the file, and a line unless nobody reads them.
  void tell(const ScriptPlace& place);
  /// `on_word` says why the word cannot be taken; empty if it is.
  using OnWord = std::function<std::string(const ScriptWord&)>;
  void add_to(Poller& poller, const OnWord& on_word);

 private:
  void write_file(const std::string& text) const;
  static void on_line(std::string_view line, const OnWord& on_word);
  static void on_request(ControlClient& client, const std::string& line, const OnWord& on_word);

  std::string file_, socket_;
  Descriptor of_program_{};
  std::optional<LineSocket> lines_{};
  ControlClients clients_{};
};

}  // namespace ductile
