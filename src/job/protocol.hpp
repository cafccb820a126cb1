// The runtime protocol: what the manager of a job and the processes of its generations say to each
// other, and how bytes become messages. docs/formats/runtime-protocol.md describes it message by
// message.
//
// No I/O here. The manager (src/job), the application library (runtime/) and the fuzzer share it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace ductile::wire {

/// The other side must speak exactly this version. Another message, or another body of one, is
/// another version.
inline constexpr std::uint16_t kVersion = 2;

inline constexpr std::size_t kHeaderBytes = 12;
/// No body is larger: room for the addresses of some 30 000 processes.
inline constexpr std::size_t kMaxBody = std::size_t{1} << 20;
inline constexpr std::size_t kMaxText = 4096;
inline constexpr std::uint32_t kMaxProcesses = 1U << 15;
/// What an address in `Go` begins with that is no new process's but a file, for all data.
inline constexpr std::string_view kFileAddress = "file:";
/// Where the processes of a first generation that goes on find the file with their data.
inline constexpr const char* kKeptVariable = "DUCTILE_KEPT";

/// The other side does not keep to the protocol; its connection is to be closed.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// It says hello, or answers it, in another version.
class OtherVersion : public ProtocolError {
 public:
  using ProtocolError::ProtocolError;
};

/// The secret that the processes of one job share: 32 hexadecimal digits.
using Token = std::array<char, 32>;

/// A token nobody can guess, from the system's random numbers.
Token new_token();
/// Nothing if it is not of that form.
std::optional<Token> parse_token(std::string_view text);
std::string text_of(const Token& token);
/// Takes the same time wherever the two differ.
bool same(const Token& left, const Token& right);

// ---- A process to its manager -------------------------------------------------------------------

/// First on every connection of a process. The generation is its own.
struct Hello {
  static constexpr std::string_view kName = "hello";
  Token token{};
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::uint32_t pid = 0;
  std::string host{};
  auto fields() { return std::tie(token, rank, size, pid, host); }
};

/// A new process has registered its data and takes hand-overs at this address, "127.0.0.1:4711".
struct Ready {
  static constexpr std::string_view kName = "ready";
  std::string address{};
  auto fields() { return std::tie(address); }
};

/// Answer to Prepare: the last probe that this process came to. It will not leave the next one
/// before it has been told where to meet.
struct At {
  static constexpr std::string_view kName = "at";
  std::uint64_t probe = 0;
  auto fields() { return std::tie(probe); }
};

/// This process stands at the probe where all meet.
struct Reached {
  static constexpr std::string_view kName = "reached";
  auto fields() { return std::tie(); }
};

/// An old process has sent all its data.
struct Sent {
  static constexpr std::string_view kName = "sent";
  std::uint64_t bytes = 0;
  auto fields() { return std::tie(bytes); }
};

/// A new process has all its data.
struct Taken {
  static constexpr std::string_view kName = "taken";
  std::uint64_t bytes = 0;
  auto fields() { return std::tie(bytes); }
};

/// This resize cannot go on, says a process of either side.
struct Failed {
  static constexpr std::string_view kName = "failed";
  std::string reason{};
  auto fields() { return std::tie(reason); }
};

/// A new process has heard of the commit and goes on with the job's work.
struct Running {
  static constexpr std::string_view kName = "running";
  auto fields() { return std::tie(); }
};

/// This process has come to its end: there is no probe any more, and it waits for Finish.
struct Finishing {
  static constexpr std::string_view kName = "finishing";
  auto fields() { return std::tie(); }
};

// ---- A manager to a process ---------------------------------------------------------------------

/// Answer to Hello.
struct Welcome {
  static constexpr std::string_view kName = "welcome";
  auto fields() { return std::tie(); }
};

/// To the old processes: a resize is coming; say where you are.
struct Prepare {
  static constexpr std::string_view kName = "prepare";
  auto fields() { return std::tie(); }
};

/// To the old processes: go on to this probe and wait there.
struct Meet {
  static constexpr std::string_view kName = "meet";
  std::uint64_t probe = 0;
  auto fields() { return std::tie(probe); }
};

/// To the new processes: this many old ones are going to send.
struct Take {
  static constexpr std::string_view kName = "take";
  std::uint32_t from = 0;
  auto fields() { return std::tie(from); }
};

/// To the old processes: all stand at the same probe; hand over to these, by rank.
struct Go {
  static constexpr std::string_view kName = "go";
  std::vector<std::string> addresses{};
  auto fields() { return std::tie(addresses); }
};

/// To both sides: the new generation is the job.
struct Commit {
  static constexpr std::string_view kName = "commit";
  auto fields() { return std::tie(); }
};

/// To the old processes: nothing has happened; go on. To the new ones: end.
struct Abort {
  static constexpr std::string_view kName = "abort";
  std::string reason{};
  auto fields() { return std::tie(reason); }
};

/// To the processes of a generation: all have come to their end, and none needs another any more.
struct Finish {
  static constexpr std::string_view kName = "finish";
  auto fields() { return std::tie(); }
};

// ---- An old process to a new one ----------------------------------------------------------------

/// First on a connection for data.
struct Open {
  static constexpr std::string_view kName = "open";
  Token token{};
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  auto fields() { return std::tie(token, rank, size); }
};

/// What follows this message: `bytes` bytes of the data registered as number `index`.
struct Data {
  static constexpr std::string_view kName = "data";
  std::uint32_t index = 0;
  std::uint32_t kind = 0;
  std::uint64_t element_bytes = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  auto fields() { return std::tie(index, kind, element_bytes, elements, bytes); }
};

/// The last message on a connection for data.
struct Close {
  static constexpr std::string_view kName = "close";
  auto fields() { return std::tie(); }
};

// ---- A measured process to its manager ----------------------------------------------------------

/// First on a connection of libductile-measure; there is no answer.
struct Watch {
  static constexpr std::string_view kName = "watch";
  Token token{};
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  auto fields() { return std::tie(token, rank, size); }
};

/// Of so many looks since the last message, so many found the program in MPI.
struct Measured {
  static constexpr std::string_view kName = "measured";
  std::uint32_t looks = 0;
  std::uint32_t in_mpi = 0;
  auto fields() { return std::tie(looks, in_mpi); }
};

// ---- Evolving programs --------------------------------------------------------------------------

/// From rank 0: the program wants another number of processes, from `at_least` to `preferred`.
struct Request {
  static constexpr std::string_view kName = "request";
  std::uint32_t at_least = 0;
  std::uint32_t preferred = 0;
  auto fields() { return std::tie(at_least, preferred); }
};

/// To rank 0, if the answer to a request is no resize: so many can be had, outside of what was
/// asked for; 0: none. Who wants them asks for exactly these.
struct Offer {
  static constexpr std::string_view kName = "offer";
  std::uint32_t size = 0;
  auto fields() { return std::tie(size); }
};

// ---- What a program says of itself --------------------------------------------------------------

/// From rank 0: the numbers of processes that the program can have.
struct Sizes {
  static constexpr std::string_view kName = "sizes";
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  std::string constraint{};  // as parse_constraint() reads it
  auto fields() { return std::tie(min, max, constraint); }
};

/// From every old process, standing at the probe of Meet: the program cannot be resized here, but
/// will be at this later probe.
struct Postponed {
  static constexpr std::string_view kName = "postponed";
  std::uint64_t probe = 0;
  auto fields() { return std::tie(probe); }
};

/// From rank 0: whether the next generation finds the job's standard input again, from the
/// beginning, or nothing.
struct Input {
  static constexpr std::string_view kName = "input";
  std::uint32_t again = 0;
  auto fields() { return std::tie(again); }
};

/// An old process has heard of the commit: from here on the program leaves, in its own time.
struct Leaving {
  static constexpr std::string_view kName = "leaving";
  auto fields() { return std::tie(); }
};

/// Of a measured process: its iterations, from probe to probe, since the last message.
struct Iterations {
  static constexpr std::string_view kName = "iterations";
  std::uint32_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
  auto fields() { return std::tie(count, total_ns, longest_ns); }
};

/// To the processes of a generation: those that wait in MPI let others go first (1), as another
/// generation is on the same cores, or do no more (0).
struct Yield {
  static constexpr std::string_view kName = "yield";
  std::uint32_t on = 0;
  auto fields() { return std::tie(on); }
};

// ---- Messages -----------------------------------------------------------------------------------

/// The place in this list, from 1, is the type in the header: append only.
using Content =
    std::variant<Hello, Ready, At, Reached, Sent, Taken, Failed, Running, Finishing, Welcome,
                 Prepare, Meet, Take, Go, Commit, Abort, Finish, Open, Data, Close, Watch, Measured,
                 Request, Offer, Sizes, Postponed, Iterations, Yield, Leaving, Input>;

struct Message {
  /// The generation it is about: of a resize, the new one; otherwise the sender's own. Numbers are
  /// never used twice in a job, so that what comes late from an aborted resize is known as such.
  std::uint32_t generation = 0;
  Content content{};
};

std::string_view name_of(const Content& content);

/// All names, in the order of `Content`.
const std::vector<std::string_view>& message_names();

/// Longer texts are cut; more addresses than `kMaxProcesses` throw ProtocolError.
std::string encode(const Message& message);

struct Header {
  std::uint32_t body_bytes = 0;
  std::uint16_t type = 0;
  std::uint32_t generation = 0;
};

/// From exactly `kHeaderBytes` bytes. ProtocolError if this is another protocol or version, or too
/// large; OtherVersion if that is why two do not come to know each other.
Header decode_header(std::string_view bytes);
/// ProtocolError unless `body` is exactly one content of the type in the header.
Message decode_body(const Header& header, std::string_view body);

/// Makes messages out of bytes as they come.
class MessageReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole message, if there is one. Throws ProtocolError.
  std::optional<Message> next();
  bool has_part() const { return !buffer_.empty(); }

 private:
  std::string buffer_;
};

}  // namespace ductile::wire
