#include "job/script_channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.hpp"
#include "job/json_line.hpp"
#include "job/protocol.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

/// Bytes of a line of the program, and of lines that it has not read.
constexpr std::size_t kLongestWord = 4096;
constexpr std::size_t kMostUnread = std::size_t{1} << 16;

std::optional<std::uint32_t> script_size(std::string_view text) {
  const auto size = parse_number<std::uint32_t>(text);
  return size && *size > 0 && *size <= wire::kMaxProcesses ? size : std::nullopt;
}

}  // namespace

std::string to_line(const ScriptPlace& place) {
  std::string cpus = to_string(place.cpus);
  std::ranges::replace(cpus, ' ', ',');
  const std::string hosts = to_text(ductile::place(place.hosts, place.size));
  return fmt::format("{} {} {}", place.size, cpus.empty() ? "-" : cpus,
                     hosts.empty() ? "-" : hosts);
}

std::optional<ScriptWord> parse_script_word(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
  if (line == "ok") return ScriptWord{};
  if (const auto size = script_size(line)) return ScriptWord{.size = size};
  std::string_view rest = line;
  if (next_part(rest, ' ') != "refuse") return std::nullopt;
  return ScriptWord{.refuses = true, .why = printable(rest)};
}

ScriptChannel::ScriptChannel(const std::string& folder, const ScriptPlace& first)
    : file_(folder + "/size"), socket_(folder + "/ack") {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  Descriptor own(ends[0]);
  of_program_ = Descriptor(ends[1]);
  set_blocking(own, false);
  lines_.emplace(std::move(own), kLongestWord, kMostUnread);
  clients_.listen(listen_in_folder(socket_));
  write_file(to_line(first));
}

Variables ScriptChannel::variables() const {
  return {{kResizeVariable, std::to_string(of_program_.get())},
          {kResizeFileVariable, file_},
          {kAckVariable, socket_}};
}

void ScriptChannel::tell(const ScriptPlace& place) {
  const std::string line = to_line(place);
  write_file(line);
  // Of more than it may hold unread the file has the last one.
  if (lines_ && lines_->unsent() == 0) lines_->send(line);
}

/// Whole, or not at all.
void ScriptChannel::write_file(const std::string& text) const {
  const std::string next = file_ + ".new";
  std::ofstream file(next, std::ios::trunc);
  file << text << '\n';
  file.close();
  if (!file || std::rename(next.c_str(), file_.c_str()) != 0) {
    spdlog::warn("'{}' cannot be written", file_);
  }
}

void ScriptChannel::add_to(Poller& poller, const OnWord& on_word) {
  clients_.forget_closed();
  if (lines_ && lines_->is_closed()) lines_.reset();
  if (lines_) {
    poller.add(lines_->descriptor(), lines_->events(), [this, on_word] {
      lines_->work();
      while (const auto line = lines_->next()) on_line(*line, on_word);
    });
  }
  clients_.add_to(poller, [on_word](ControlClient& client, const std::string& line) {
    on_request(client, line, on_word);
  });
}

void ScriptChannel::on_line(std::string_view line, const OnWord& on_word) {
  const auto word = parse_script_word(line);
  const std::string why_not =
      word ? on_word(*word) : "a program writes a size, 'ok' or 'refuse WHY'";
  if (!why_not.empty()) {
    spdlog::warn("the program has said '{}': {}", printable(line.substr(0, 100)), why_not);
  }
}

/// Of `ductile ack`.
void ScriptChannel::on_request(ControlClient& client, const std::string& line,
                               const OnWord& on_word) {
  const Json json = parse_json_line<Json>(line);
  const auto fail = [&](const std::string& why) {
    ControlClients::tell(client, {{"ok", false}, {"error", why}});
  };
  if (!json.is_object() || json.value("do", Json()) != "ack")
    return fail("this takes \"ack\" alone");
  ScriptWord word;
  if (const auto size = json.find("size"); size != json.end()) {
    word.size = script_size(size->dump());
    if (!word.size) return fail("\"size\" is a number of processes");
  }
  if (const auto why = json.find("refuse"); why != json.end()) {
    if (!why->is_string()) return fail("\"refuse\" is a text");
    word.refuses = true;
    word.why = printable(std::string(*why));
  }
  if (const std::string why_not = on_word(word); !why_not.empty()) return fail(why_not);
  ControlClients::tell(client, {{"ok", true}});
}

}  // namespace ductile
