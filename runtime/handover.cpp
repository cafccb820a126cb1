#include "handover.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "job/fault.hpp"
#include "job/strided_copy.hpp"

namespace ductile {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::milliseconds kForever{-1};
/// Connections that have not said who they are; more are closed at once.
constexpr std::size_t kMaxStrangers = 64;
/// Connections taken in one turn, so that those that have come are heard whoever else comes.
constexpr int kMostAccepted = 64;

/// Pieces below this size go through a buffer: one call of the system for few bytes costs more than
/// a copy.
constexpr std::size_t kSmallPiece = 4096;
/// Small enough to stay in a cache between the copy and the call.
constexpr std::size_t kBuffer = std::size_t{32} << 10;
/// New processes that an old one serves at a time.
constexpr std::int64_t kMostServed = 32;

/// The program's memory behind an overlap: pieces of one length, one distance apart, of which the
/// last one may be shorter.
class Pieces {
 public:
  Pieces(const Registered& data, Seat me, const Overlap& shared)
      : next_(place_of(data, me, shared.begin)),
        piece_(static_cast<std::size_t>(shared.length) * data.element_bytes),
        left_(static_cast<std::size_t>(shared.total) * data.element_bytes) {
    if (shared.count > 1) {
      distance_ = static_cast<std::size_t>(place_of(data, me, shared.begin + shared.step) - next_);
    }
    // Who has all of them has them in a row.
    if (distance_ == piece_) piece_ = left_;
  }

  std::size_t left() const { return left_; }
  bool are_small() const { return piece_ < kSmallPiece && left_ > piece_; }

  /// The next pieces; how many.
  std::size_t fill(std::array<iovec, 64>& parts) const {
    std::size_t count = 0;
    Pieces rest = *this;
    while (rest.left_ > 0 && count < parts.size()) {
      parts[count++] = {rest.next_ + rest.done_, rest.here()};
      rest.advance(rest.here());
    }
    return count;
  }

  void advance(std::size_t bytes) {
    left_ -= bytes;
    done_ += bytes;
    if (done_ < piece_) return;
    next_ += done_ / piece_ * distance_;
    done_ %= piece_;
  }

  /// Copies the next bytes into the buffer, or out of it; how many. They count as done.
  std::size_t gather(char* buffer, std::size_t most) {
    return copy(
        most,
        [&](char* place, std::size_t at, std::size_t bytes) {
          std::memcpy(buffer + at, place, bytes);
        },
        [&](char* place, std::size_t at, std::size_t count) {
          ductile::gather(buffer + at, place, piece_, distance_, count);
        });
  }
  void scatter(const char* buffer, std::size_t bytes) { scatter(buffer, bytes, ductile::scatter); }
  /// Where other processes write what lies between the pieces.
  void scatter_among_others(const char* buffer, std::size_t bytes) {
    scatter(buffer, bytes, ductile::scatter_among_others);
  }

 private:
  static char* place_of(const Registered& data, Seat me, std::int64_t element) {
    return data.own() +
           static_cast<std::size_t>(local_index(data.layout, me, element)) * data.element_bytes;
  }

  void scatter(const char* buffer, std::size_t bytes, decltype(ductile::scatter)& whole) {
    copy(
        bytes,
        [&](char* place, std::size_t at, std::size_t size) {
          std::memcpy(place, buffer + at, size);
        },
        [&](char* place, std::size_t at, std::size_t count) {
          whole(place, buffer + at, piece_, distance_, count);
        });
  }

  /// Bytes in a row from here on.
  std::size_t here() const { return std::min(piece_ - done_, left_); }

  /// `part(place, at, bytes)` copies what is in a row, `pieces(place, at, count)` whole pieces.
  template <class Part, class Whole>
  std::size_t copy(std::size_t most, const Part& part, const Whole& pieces) {
    most = std::min(most, left_);
    std::size_t at = 0;
    while (at < most) {
      const std::size_t count = done_ == 0 ? (most - at) / piece_ : 0;
      const std::size_t bytes = count > 0 ? count * piece_ : std::min(here(), most - at);
      if (count > 0) {
        pieces(next_, at, count);
      } else {
        part(next_ + done_, at, bytes);
      }
      at += bytes;
      advance(bytes);
    }
    return at;
  }

  char* next_;                // piece
  std::size_t done_ = 0;      // bytes of it
  std::size_t piece_;         // bytes
  std::size_t distance_ = 0;  // from one to the next, in bytes
  std::size_t left_;
};

/// Of what the program packs, it alone knows: all processes talk to all.
bool share(const Registered& one, Seat from, Seat to) {
  return one.pack != nullptr || overlap(one.layout, from, to).total > 0;
}

bool share(const std::vector<Registered>& data, Seat from, Seat to) {
  return std::ranges::any_of(data, [&](const Registered& one) { return share(one, from, to); });
}

/// Bytes in a row, as if they were registered.
Registered plain_bytes(const void* data, std::size_t bytes) {
  return {
      .layout = {.spread = LayoutSpread::replicated, .elements = static_cast<std::int64_t>(bytes)},
      .element_bytes = 1,
      .data = const_cast<void*>(data)};
}

wire::Data header_of(const Registered& one, std::size_t index, const Overlap& shared) {
  return {.index = static_cast<std::uint32_t>(index),
          .kind = static_cast<std::uint32_t>(one.layout.spread),
          .element_bytes = one.element_bytes,
          .elements = static_cast<std::uint64_t>(one.layout.elements),
          .bytes = static_cast<std::uint64_t>(shared.total) * one.element_bytes};
}

/// A process that has elements has memory for them: without it there would be nothing to take, or
/// to be put anywhere.
void check_memory(const std::vector<Registered>& data, Seat me) {
  for (const Registered& one : data) {
    if (one.place != nullptr && *one.place == nullptr && held(one.layout, me) > 0) {
      throw std::runtime_error("'" + one.name + "' has no memory: the pointer to it is null");
    }
  }
}

/// What the manager decided, if it has.
std::optional<Verdict> verdict_within(Link& link, std::uint32_t resize,
                                      std::chrono::milliseconds timeout) {
  while (const auto message = link.receive(timeout)) {
    if (message->generation != resize) continue;  // of a resize that is over
    if (std::holds_alternative<wire::Commit>(message->content)) return Verdict::committed;
    if (std::holds_alternative<wire::Abort>(message->content)) return Verdict::aborted;
  }
  return std::nullopt;
}

Verdict wait_for_verdict(Link& link, std::uint32_t resize) {
  for (;;) {
    if (const auto verdict = verdict_within(link, resize, kForever)) return *verdict;
  }
}

// ---- The old side -------------------------------------------------------------------------------

/// The resize was given up meanwhile.
struct Aborted {};

class Sender {
 public:
  Sender(Link& link, std::uint32_t resize, const std::string& address)
      : link_(link), resize_(resize), socket_(connect_to(address, kPatience)) {
    set_blocking(socket_, false);
  }

  void send(const wire::Content& content) {
    send_with_faults(
        link_.role(resize_), {resize_, content}, [this](const std::string& bytes) { send(bytes); },
        [this] { shutdown(socket_.get(), SHUT_RDWR); });
  }

  /// A buffer full of them, from there.
  void send_some(Pieces& pieces, std::vector<char>& buffer) {
    buffer.resize(kBuffer);
    send(buffer.data(), pieces.gather(buffer.data(), buffer.size()));
  }

  void send(Pieces pieces) {
    while (pieces.left() > 0) {
      std::array<iovec, 64> parts;
      const std::size_t count = pieces.fill(parts);
      pieces.advance(send_parts(parts, count));
    }
  }

 private:
  void send(std::string bytes) { send(bytes.data(), bytes.size()); }
  void send(char* bytes, std::size_t size) {
    for (std::size_t sent = 0; sent < size;) {
      std::array<iovec, 64> parts;
      parts[0] = {bytes + sent, size - sent};
      sent += send_parts(parts, 1);
    }
  }

  // Waits until something can be sent, listening to the manager.
  std::size_t send_parts(std::array<iovec, 64>& parts, std::size_t count) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    for (;;) {
      const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
      if (sent > 0) return static_cast<std::size_t>(sent);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), "sending data");
      }
      std::array<pollfd, 2> waiting{{{.fd = socket_.get(), .events = POLLOUT, .revents = 0},
                                     {.fd = link_.socket().get(), .events = POLLIN, .revents = 0}}};
      poll(waiting.data(), waiting.size(), -1);
      if (waiting[1].revents != 0 &&
          verdict_within(link_, resize_, std::chrono::milliseconds(0)) == Verdict::aborted) {
        throw Aborted{};
      }
    }
  }

  Link& link_;
  std::uint32_t resize_;
  Descriptor socket_;
};

/// A new process and the way to it.
struct Target {
  Seat seat;
  Sender sender;
};

std::uint64_t send_packed(Sender& sender, const Registered& one, std::size_t index, Seat to) {
  const void* packed = nullptr;
  std::size_t bytes = 0;
  if (one.pack(one.user, static_cast<int>(to.rank), static_cast<int>(to.size), &packed, &bytes) !=
      0) {
    throw std::runtime_error("the program cannot pack '" + one.name + "'");
  }
  wire::Data header = header_of(one, index, {});
  header.bytes = bytes;
  sender.send(header);
  const Registered view = plain_bytes(packed, bytes);
  sender.send(Pieces(view, {}, overlap(view.layout, {}, {})));
  return bytes;
}

/// Pieces that are still to be sent.
struct Rest {
  Sender* sender;
  Pieces pieces;
};

/// To each a little in turn: what lies between the pieces of one, which are another's, is still in
/// a cache then.
void send_in_turns(std::vector<Rest> rests) {
  std::vector<char> buffer;
  while (!rests.empty()) {
    for (Rest& rest : rests) rest.sender->send_some(rest.pieces, buffer);
    std::erase_if(rests, [](const Rest& rest) { return rest.pieces.left() == 0; });
  }
}

std::uint64_t send_to(std::vector<Target>& targets, const Link& link,
                      const std::vector<Registered>& data, Seat from) {
  std::uint64_t bytes = 0;
  for (Target& to : targets) {
    to.sender.send(wire::Open{.token = link.token(), .rank = link.rank(), .size = link.size()});
  }
  for (std::size_t index = 0; index < data.size(); ++index) {
    const Registered& one = data[index];
    std::vector<Rest> small;
    for (Target& to : targets) {
      if (one.pack != nullptr) {
        bytes += send_packed(to.sender, one, index, to.seat);
        continue;
      }
      const Overlap shared = overlap(one.layout, from, to.seat);
      if (shared.total == 0) continue;
      const wire::Data header = header_of(one, index, shared);
      to.sender.send(header);
      bytes += header.bytes;
      const Pieces pieces(one, from, shared);
      if (pieces.are_small()) {
        small.push_back({&to.sender, pieces});
      } else {
        to.sender.send(pieces);
      }
    }
    send_in_turns(std::move(small));
  }
  for (Target& to : targets) to.sender.send(wire::Close{});
  return bytes;
}

// ---- The new side -------------------------------------------------------------------------------

/// One connection of an old process.
struct Source {
  Descriptor socket{};
  Clock::time_point since{};
  std::string buffer{};  // of the message that is coming
  std::optional<wire::Header> header{};
  std::optional<Pieces> payload{};
  std::optional<std::uint32_t> rank{};  // once it has said who it is
  std::size_t next = 0;                 // the first data that has not come
  std::vector<char> packed{};           // what the program is to unpack
  Registered packed_view{};
  std::size_t packed_bytes = 0;
  bool is_waiting = false;  // until another one's is unpacked
  bool closed = false;
};

class Taker {
 public:
  Taker(Link& link, const std::vector<Registered>& data, std::uint32_t old_size)
      : link_(link),
        data_(data),
        me_{link.rank(), link.size()},
        old_size_(old_size),
        arrived_(old_size) {
    for (std::uint32_t rank = 0; rank < old_size; ++rank) {
      if (share(data, {rank, old_size}, me_)) ++missing_;
    }
  }

  /// All data, or what the manager decided meanwhile.
  std::optional<Verdict> take(const Descriptor& listener) {
    while (missing_ > 0) {
      begin_next_packed();
      std::vector<pollfd> waiting{{.fd = link_.socket().get(), .events = POLLIN, .revents = 0},
                                  {.fd = listener.get(), .events = POLLIN, .revents = 0}};
      for (const auto& source : sources_) {
        waiting.push_back(
            {.fd = source->is_waiting ? -1 : source->socket.get(), .events = POLLIN, .revents = 0});
      }
      poll(waiting.data(), waiting.size(), 1000);
      if (waiting[0].revents != 0) {
        const auto verdict =
            verdict_within(link_, link_.generation(), std::chrono::milliseconds(0));
        if (verdict) return verdict;
      }
      for (std::size_t i = 2; i < waiting.size(); ++i) {
        if (waiting[i].revents != 0) serve(*sources_[i - 2]);
      }
      if (waiting[1].revents != 0) accept_some(listener);
      const auto too_old = Clock::now() - kPatience;
      std::erase_if(sources_, [&](const auto& source) {
        return source->closed || !source->socket || (!source->rank && source->since < too_old);
      });
    }
    return std::nullopt;
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  void accept_some(const Descriptor& listener) {
    for (int i = 0; i < kMostAccepted; ++i) {
      auto socket = accept_from(listener);
      if (!socket) return;
      // Who belongs here says so at once: the one who has been silent for longest does not.
      const auto is_stranger = [](const auto& source) { return !source->rank && source->socket; };
      const auto strangers = std::ranges::count_if(sources_, is_stranger);
      if (static_cast<std::size_t>(strangers) >= kMaxStrangers + old_size_) {
        (*std::ranges::find_if(sources_, is_stranger))->socket.reset();
      }
      auto source = std::make_unique<Source>();
      source->socket = std::move(*socket);
      source->since = Clock::now();
      sources_.push_back(std::move(source));
      serve(*sources_.back());
    }
  }

  void serve(Source& source) {
    try {
      receive(source);
    } catch (const std::runtime_error& error) {
      // A stranger cannot do harm; an old process that goes wrong ends the resize.
      if (source.rank) {
        throw std::runtime_error("from old process " + std::to_string(*source.rank) + ": " +
                                 error.what());
      }
      complain(std::string("a connection for data was refused: ") + error.what());
      source.socket.reset();
    }
  }

  void receive(Source& source) {
    while (!source.closed && !source.is_waiting) {
      ssize_t got = 0;
      std::array<char, 4096> bytes;
      const bool is_scattered = source.payload && source.payload->are_small();
      if (is_scattered) {
        buffer_.resize(kBuffer);
        got = recv(source.socket.get(), buffer_.data(),
                   std::min(buffer_.size(), source.payload->left()), 0);
      } else if (source.payload) {
        std::array<iovec, 64> parts;
        const std::size_t count = source.payload->fill(parts);
        got = readv(source.socket.get(), parts.data(), static_cast<int>(count));
      } else {
        // No more than this message: what comes behind it may have its place elsewhere.
        got = recv(source.socket.get(), bytes.data(), std::min(bytes.size(), wanted(source)), 0);
      }
      if (got < 0 && errno == EAGAIN) return;
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw std::system_error(errno, std::generic_category(), "receiving data");
      if (got == 0) throw std::runtime_error("the connection ended before its data");
      if (source.payload) {
        bytes_ += static_cast<std::uint64_t>(got);
        if (is_scattered) {
          source.payload->scatter(buffer_.data(), static_cast<std::size_t>(got));
        } else {
          source.payload->advance(static_cast<std::size_t>(got));
        }
        if (source.payload->left() == 0) end_payload(source);
        continue;
      }
      source.buffer.append(bytes.data(), static_cast<std::size_t>(got));
      if (wanted(source) > 0) continue;
      if (!source.header) {
        source.header = wire::decode_header(source.buffer);
        source.buffer.clear();
        // Strangers get room for an Open, not for more.
        if (!source.rank && source.header->body_bytes > 256) {
          throw wire::ProtocolError("a first message that is too large");
        }
        if (source.header->body_bytes > 0) continue;
      }
      const wire::Message message = wire::decode_body(*source.header, source.buffer);
      source.header.reset();
      source.buffer.clear();
      handle(source, message);
    }
  }

  static std::size_t wanted(const Source& source) {
    return (source.header ? source.header->body_bytes : wire::kHeaderBytes) - source.buffer.size();
  }

  void handle(Source& source, const wire::Message& message) {
    if (message.generation != link_.generation()) {
      throw wire::ProtocolError("data for generation " + std::to_string(message.generation));
    }
    if (!source.rank) {
      const auto* open = std::get_if<wire::Open>(&message.content);
      if (open == nullptr) throw wire::ProtocolError("a first message that is not 'open'");
      if (!wire::same(open->token, link_.token())) throw wire::ProtocolError("a wrong token");
      if (open->size != old_size_ || open->rank >= old_size_ || arrived_[open->rank]) {
        throw wire::ProtocolError("an 'open' that does not belong here");
      }
      arrived_[open->rank] = true;
      source.rank = open->rank;
      skip_empty(source);
    } else if (const auto* header = std::get_if<wire::Data>(&message.content)) {
      begin(source, *header);
    } else if (std::holds_alternative<wire::Close>(message.content)) {
      if (source.next < data_.size()) {
        throw wire::ProtocolError("'" + data_[source.next].name + "' is missing");
      }
      source.closed = true;
      --missing_;
    } else {
      throw wire::ProtocolError("an unexpected '" + std::string(name_of(message.content)) + "'");
    }
  }

  Overlap shared_with(const Source& source) const {
    return overlap(data_[source.next].layout, {*source.rank, old_size_}, me_);
  }

  void skip_empty(Source& source) const {
    const Seat from{*source.rank, old_size_};
    while (source.next < data_.size() && !share(data_[source.next], from, me_)) ++source.next;
  }

  void end_payload(Source& source) {
    source.payload.reset();
    const Registered& one = data_[source.next];
    if (one.unpack != nullptr &&
        one.unpack(one.user, static_cast<int>(*source.rank), static_cast<int>(old_size_),
                   source.packed.data(), source.packed.size()) != 0) {
      throw std::runtime_error("the program cannot unpack '" + one.name + "'");
    }
    if (one.unpack != nullptr) {
      source.packed = {};
      is_unpacking_ = false;
    }
    ++source.next;
    skip_empty(source);
  }

  void begin(Source& source, const wire::Data& header) {
    if (source.next >= data_.size()) throw wire::ProtocolError("more data than is registered here");
    const Registered& one = data_[source.next];
    const Overlap shared = shared_with(source);
    wire::Data expected = header_of(one, source.next, shared);
    if (one.unpack != nullptr) expected.bytes = header.bytes;
    if (header.index != expected.index || header.kind != expected.kind ||
        header.element_bytes != expected.element_bytes || header.elements != expected.elements ||
        header.bytes != expected.bytes) {
      throw wire::ProtocolError(
          "'" + one.name + "' is registered differently: " + std::to_string(header.elements) +
          " elements of " + std::to_string(header.element_bytes) + " bytes there, " +
          std::to_string(expected.elements) + " of " + std::to_string(expected.element_bytes) +
          " here; every generation must register the same data in the same order");
    }
    if (one.unpack == nullptr) {
      source.payload.emplace(one, me_, shared);
      return;
    }
    source.packed_bytes = header.bytes;
    source.is_waiting = is_unpacking_;
    if (!is_unpacking_) begin_packed(source);
  }

  /// One at a time, so that not the data of all old processes are held at once: the others wait
  /// with their sending.
  void begin_packed(Source& source) {
    is_unpacking_ = true;
    source.packed.resize(source.packed_bytes);
    source.packed_view = plain_bytes(source.packed.data(), source.packed.size());
    source.payload.emplace(source.packed_view, Seat{}, overlap(source.packed_view.layout, {}, {}));
    if (source.packed.empty()) end_payload(source);
  }

  void begin_next_packed() {
    for (const auto& source : sources_) {
      if (is_unpacking_) return;
      if (std::exchange(source->is_waiting, false)) begin_packed(*source);
    }
  }

  Link& link_;
  const std::vector<Registered>& data_;
  Seat me_;
  std::uint32_t old_size_;
  std::vector<char> buffer_{};
  bool is_unpacking_ = false;
  std::vector<bool> arrived_;
  std::uint32_t missing_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::unique_ptr<Source>> sources_{};
};

// ---- A file in the place of the new side --------------------------------------------------------
// The data of all processes as one process alone would have it: a head, then one array after the
// other, each at the beginning of a page. Native numbers: it is read on the machine that wrote it.

constexpr std::array<char, 8> kMagic{'d', 'u', 'c', 't', 'k', 'e', 'p', '1'};
constexpr Seat kAlone{0, 1};

/// Of one array, as it was registered.
struct KeptArray {
  std::uint32_t spread = 0;
  std::uint32_t name_bytes = 0;
  std::uint64_t element_bytes = 0;
  std::int64_t elements = 0;
  std::int64_t block = 0;
  std::uint64_t place = 0;  // in the file
};

struct KeptHead {
  std::array<char, 8> magic = kMagic;
  std::uint64_t arrays = 0;
  std::uint64_t bytes = 0;  // of the file
};

/// The head as bytes, and how long the file is.
std::string head_of(const std::vector<Registered>& data, std::uint64_t& total) {
  constexpr std::uint64_t kPage = 4096;
  const auto up = [](std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; };
  std::uint64_t place = sizeof(KeptHead);
  for (const Registered& one : data) {
    if (one.pack != nullptr) {
      throw std::runtime_error("the program itself packs '" + one.name +
                               "', for other processes only: it cannot be kept in a file");
    }
    place += sizeof(KeptArray) + one.name.size();
  }
  place = up(place);
  std::string text(sizeof(KeptHead), '\0');
  for (const Registered& one : data) {
    const KeptArray array{.spread = static_cast<std::uint32_t>(one.layout.spread),
                          .name_bytes = static_cast<std::uint32_t>(one.name.size()),
                          .element_bytes = one.element_bytes,
                          .elements = one.layout.elements,
                          .block = one.layout.block,
                          .place = place};
    text.append(reinterpret_cast<const char*>(&array), sizeof array).append(one.name);
    place = up(place + static_cast<std::uint64_t>(one.layout.elements) * one.element_bytes);
  }
  const KeptHead head{.arrays = data.size(), .bytes = place};
  std::memcpy(text.data(), &head, sizeof head);
  total = place;
  return text;
}

/// A file in memory.
class Mapped {
 public:
  Mapped(const std::string& path, bool is_written, std::uint64_t bytes)
      : file_(open(path.c_str(), (is_written ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW)),
        bytes_(bytes) {
    if (!file_) fail(path);
    struct stat found {};
    // A hole would be found when a byte is put there, by a signal.
    if (is_written && fallocate(file_.get(), 0, 0, static_cast<off_t>(bytes)) != 0) fail(path);
    if (fstat(file_.get(), &found) != 0) fail(path);
    if (static_cast<std::uint64_t>(found.st_size) < bytes) {
      throw std::runtime_error("'" + path + "' is not whole");
    }
    const int protection = is_written ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const map = mmap(nullptr, bytes, protection, MAP_SHARED, file_.get(), 0);
    if (map == MAP_FAILED) fail(path);
    map_ = static_cast<char*>(map);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { munmap(map_, bytes_); }

  char* at(std::uint64_t place) const { return map_ + place; }
  void sync(const std::string& path) const {
    if (msync(map_, bytes_, MS_SYNC) != 0 || fsync(file_.get()) != 0) fail(path);
  }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw std::system_error(errno, std::generic_category(), "'" + path + "'");
  }

  Descriptor file_;
  std::uint64_t bytes_;
  char* map_ = nullptr;
};

/// An array as the file has it.
Registered image_of(const Registered& one, char* place) {
  return {.layout = one.layout, .element_bytes = one.element_bytes, .data = place};
}

/// All processes write to the file at once.
void copy(Pieces from, Pieces to, std::vector<char>& buffer) {
  buffer.resize(kBuffer);
  while (from.left() > 0) {
    const std::size_t bytes = from.gather(buffer.data(), buffer.size());
    to.scatter_among_others(buffer.data(), bytes);
  }
}

std::uint64_t place_in(const std::string& head, std::size_t at) {
  KeptArray array;
  std::memcpy(&array, head.data() + at, sizeof array);
  return array.place;
}

/// What this process shares with one that would be alone; the first process writes the head.
std::uint64_t keep_in_file(const std::string& path, const std::vector<Registered>& data, Seat me) {
  std::uint64_t total = 0, bytes = 0;
  const std::string head = head_of(data, total);
  const Mapped file(path, true, total);
  if (me.rank == 0) std::memcpy(file.at(0), head.data(), head.size());
  std::vector<char> buffer;
  std::size_t at = sizeof(KeptHead);
  for (const Registered& one : data) {
    const Registered image = image_of(one, file.at(place_in(head, at)));
    at += sizeof(KeptArray) + one.name.size();
    const Overlap shared = overlap(one.layout, me, kAlone);
    if (shared.total == 0) continue;
    copy(Pieces(one, me, shared), Pieces(image, kAlone, shared), buffer);
    bytes += static_cast<std::uint64_t>(shared.total) * one.element_bytes;
  }
  file.sync(path);
  return bytes;
}

}  // namespace

void take_from_file(const std::string& path, const std::vector<Registered>& data, Seat me) {
  check_memory(data, me);
  std::uint64_t total = 0;
  const std::string head = head_of(data, total);
  const Mapped file(path, false, total);
  if (std::memcmp(file.at(0), head.data(), head.size()) != 0) {
    throw std::runtime_error("'" + path +
                             "' has other data than is registered here; every generation must "
                             "register the same data in the same order");
  }
  std::vector<char> buffer;
  std::size_t at = sizeof(KeptHead);
  for (const Registered& one : data) {
    const Registered image = image_of(one, file.at(place_in(head, at)));
    at += sizeof(KeptArray) + one.name.size();
    const Overlap shared = overlap(one.layout, kAlone, me);
    if (shared.total == 0) continue;
    copy(Pieces(image, kAlone, shared), Pieces(one, me, shared), buffer);
  }
}

Verdict hand_over(Link& link, std::uint32_t resize, const std::vector<std::string>& addresses,
                  const std::vector<Registered>& data) {
  const Seat me{link.rank(), link.size()};
  const auto size = static_cast<std::int64_t>(addresses.size());
  std::uint64_t bytes = 0;
  try {
    check_memory(data, me);
    if (size == 1 && addresses[0].starts_with(wire::kFileAddress)) {
      bytes = keep_in_file(addresses[0].substr(wire::kFileAddress.size()), data, me);
      link.send(resize, wire::Sent{.bytes = bytes});
      return wait_for_verdict(link, resize);
    }
    std::vector<Target> targets;
    for (std::int64_t i = 0; i < size; ++i) {
      // Each begins with another one, so that not all send to the same.
      const Seat to{(me.rank + i) % size, size};
      if (share(data, me, to)) {
        targets.push_back({to, Sender(link, resize, addresses[static_cast<std::size_t>(to.rank)])});
      }
      if (i + 1 < size && std::ssize(targets) < kMostServed) continue;
      bytes += send_to(targets, link, data, me);
      targets.clear();
    }
    link.send(resize, wire::Sent{.bytes = bytes});
  } catch (const Aborted&) {
    return Verdict::aborted;
  } catch (const std::exception& error) {
    link.send(resize, wire::Failed{.reason = error.what()});
  }
  return wait_for_verdict(link, resize);
}

namespace {

/// Heard only by those who reach this process by the way that leads to the manager.
Descriptor listen_for_data(const Link& link) {
  const std::string folder = folder_of_address(link.manager());
  if (folder.empty()) return listen_tcp(local_host(link.socket()));
  return listen_in_folder(folder + "/data." + std::to_string(link.generation()) + "." +
                          std::to_string(link.rank()));
}

/// What a socket in a folder leaves there.
struct Unlink {
  std::string address;
  ~Unlink() {
    if (!folder_of_address(address).empty()) unlink(address.c_str() + address.find('/'));
  }
};

/// Has memory ready into which small pieces will come, page after page from each old process:
/// before the program pauses for them.
void prepare_memory(const std::vector<Registered>& data, Seat me) {
#if defined(MADV_POPULATE_WRITE)
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const Registered& one : data) {
    const Layout& layout = one.layout;
    const bool is_small = layout.spread == LayoutSpread::cyclic &&
                          static_cast<std::size_t>(layout.block) < kSmallPiece / one.element_bytes;
    if (!is_small) continue;
    // Whole pages of it. A system that cannot do this does it as they are written.
    const auto begin = reinterpret_cast<std::uintptr_t>(one.own());
    const auto end = begin + static_cast<std::size_t>(held(layout, me)) * one.element_bytes;
    const std::uintptr_t first = (begin + page - 1) / page * page;
    if (first < end) {
      madvise(reinterpret_cast<void*>(first), (end - first) / page * page, MADV_POPULATE_WRITE);
    }
  }
#else
  static_cast<void>(data), static_cast<void>(me);
#endif
}

}  // namespace

Verdict take_over(Link& link, const std::vector<Registered>& data) {
  const std::uint32_t resize = link.generation();
  // If it fails, nobody fails because of that before it has said so: they stay open until then.
  Descriptor listener;
  Unlink unlink_later{};
  std::optional<Taker> taker;
  try {
    check_memory(data, {link.rank(), link.size()});
    prepare_memory(data, {link.rank(), link.size()});
    listener = listen_for_data(link);
    unlink_later.address = local_address(listener);
    link.send(resize, wire::Ready{.address = unlink_later.address});
    for (;;) {
      const auto message = link.receive(kForever);
      if (message->generation != resize) continue;
      if (std::holds_alternative<wire::Abort>(message->content)) return Verdict::aborted;
      if (const auto* from = std::get_if<wire::Take>(&message->content)) {
        taker.emplace(link, data, from->from);
        if (const auto verdict = taker->take(listener)) return *verdict;
        link.send(resize, wire::Taken{.bytes = taker->bytes()});
        break;
      }
    }
  } catch (const std::exception& error) {
    link.send(resize, wire::Failed{.reason = error.what()});
  }
  return wait_for_verdict(link, resize);
}

}  // namespace ductile
