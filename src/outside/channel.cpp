#include "outside/channel.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

#ifdef DUCTILE_HAS_ZMQ
#include <zmq.h>
#endif

namespace ductile {

#ifdef DUCTILE_HAS_ZMQ

namespace {

using Stopwatch = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 100;
constexpr std::int64_t kLongestText = std::int64_t{256} << 20;

struct EndContext {
  void operator()(void* context) const { zmq_ctx_term(context); }
};
struct CloseSocket {
  void operator()(void* socket) const { zmq_close(socket); }
};
using ZmqSocket = std::unique_ptr<void, CloseSocket>;

[[noreturn]] void fail_at(const std::string& endpoint, const std::string& what,
                          const std::string& remedy) {
  throw InputError({.field = endpoint}, what, remedy);
}

// What both sides have.
class ZmqEnd {
 public:
  ZmqEnd(std::string endpoint, int type)
      : endpoint_(std::move(endpoint)),
        context_(zmq_ctx_new()),
        socket_(zmq_socket(context_.get(), type)) {
    if (!socket_) fail("no socket can be made");
    const int linger_ms = 1000;  // so long the last text has to leave
    zmq_setsockopt(socket_.get(), ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_setsockopt(socket_.get(), ZMQ_MAXMSGSIZE, &kLongestText, sizeof kLongestText);
    zmq_setsockopt(socket_.get(), ZMQ_RCVTIMEO, &kPollMilliseconds, sizeof kPollMilliseconds);
  }

  [[noreturn]] void fail(const std::string& what) const {
    fail_at(endpoint_, fmt::format("{}: {}", what, zmq_strerror(zmq_errno())),
            "write it as tcp://127.0.0.1:28000 or ipc:///folder/name");
  }
  void send(const std::string& text) {
    if (zmq_send(socket_.get(), text.data(), text.size(), 0) < 0) fail("nothing can be sent");
  }
  // False: nobody is there who could take it.
  bool sent(const std::string& text) {
    if (zmq_send(socket_.get(), text.data(), text.size(), ZMQ_DONTWAIT) >= 0) return true;
    if (zmq_errno() != EAGAIN) fail("nothing can be sent");
    return false;
  }
  // What is there, if something is.
  std::optional<std::string> received() { return next(ZMQ_DONTWAIT); }
  // What comes, if something does within kPollMilliseconds.
  std::optional<std::string> awaited() { return next(0); }
  void* socket() const { return socket_.get(); }
  void* context() const { return context_.get(); }
  const std::string& endpoint() const { return endpoint_; }

 private:
  std::optional<std::string> next(int flags) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    std::optional<std::string> text;
    if (zmq_msg_recv(&message, socket_.get(), flags) >= 0) {
      text.emplace(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    }
    zmq_msg_close(&message);
    return text;
  }

  std::string endpoint_;
  std::unique_ptr<void, EndContext> context_;
  ZmqSocket socket_;
};

// How a channel came to be: it goes to who listens, or who asks for work comes to it.
class ZmqChannel final : public OutsideChannel {
 public:
  ZmqChannel(ChannelSettings settings, bool comes)
      : settings_(std::move(settings)),
        comes_(comes),
        end_(settings_.endpoint, comes ? ZMQ_PAIR : ZMQ_REQ) {
    constexpr const char* kWatch = "inproc://watch";
    zmq_socket_monitor(
        end_.socket(), kWatch,
        comes ? ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED
              : ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED);
    watch_.reset(zmq_socket(end_.context(), ZMQ_PAIR));
    zmq_connect(watch_.get(), kWatch);
    if (comes) {
      if (zmq_bind(end_.socket(), settings_.endpoint.c_str()) != 0) {
        end_.fail("no scheduler can come there");
      }
    } else if (zmq_connect(end_.socket(), settings_.endpoint.c_str()) != 0) {
      end_.fail("nobody can be asked there");
    }
  }
  ~ZmqChannel() override { zmq_socket_monitor(end_.socket(), nullptr, 0); }
  ZmqChannel(const ZmqChannel&) = delete;
  ZmqChannel& operator=(const ZmqChannel&) = delete;

  std::string ask(const std::string& text) override {
    begin_ = Stopwatch::now();
    if (comes_) {
      look();
      if (end_.received()) {
        fail_at(end_.endpoint(), "the scheduler says something without being asked",
                "let it answer each question once");
      }
      while (!end_.sent(text)) {
        zmq_pollitem_t item{watch_.get(), 0, ZMQ_POLLIN, 0};
        zmq_poll(&item, 1, kPollMilliseconds);
        look();
        go_on();
      }
    } else {
      end_.send(text);
    }
    while (true) {
      std::optional<std::string> answer = end_.awaited();
      if (answer && !comes_) return *std::move(answer);
      look();
      if (!answer && is_gone_) answer = end_.received();  // it may have answered, and gone then
      if (answer && !(comes_ && is_gone_)) return *std::move(answer);
      go_on();
    }
  }

  void tell(const std::string& text) override {
    look();
    if (is_there_ && !is_gone_) (void)end_.sent(text);
  }

 private:
  // Throws when there is nothing to wait for any longer.
  void go_on() {
    if (is_gone_) {
      fail_at(end_.endpoint(), "the scheduler is gone, and has not answered",
              "see what it says itself");
    }
    const std::chrono::duration<double> waited = Stopwatch::now() - begin_;
    if (settings_.stop != nullptr && settings_.stop->load(std::memory_order_relaxed)) {
      fail_at(end_.endpoint(), "stopped while the scheduler was asked", "run it again");
    }
    if (waited.count() > to_seconds(settings_.timeout)) {
      const std::string time = seconds_text(settings_.timeout);
      if (is_there_) {
        fail_at(end_.endpoint(), fmt::format("the scheduler has not answered within {} s", time),
                "see what it does, or give it more time");
      }
      fail_at(end_.endpoint(), fmt::format("no scheduler was there within {} s", time),
              comes_ ? "start it, and let it connect there"
                     : "start one that listens there, or check the address");
    }
    if (!is_there_ && waited.count() > 1 && settings_.waiting) {
      std::exchange(settings_.waiting, {})();
    }
  }

  // Has the other side come, or gone?
  void look() {
    zmq_msg_t message;
    zmq_msg_init(&message);
    // Two parts: number and value of the event, and the address.
    for (bool is_first = true; zmq_msg_recv(&message, watch_.get(), ZMQ_DONTWAIT) >= 0;
         is_first = zmq_msg_more(&message) == 0) {
      std::uint16_t event = 0;
      std::uint32_t value = 0;
      if (!is_first || zmq_msg_size(&message) < sizeof event + sizeof value) continue;
      std::memcpy(&event, zmq_msg_data(&message), sizeof event);
      std::memcpy(&value, static_cast<char*>(zmq_msg_data(&message)) + sizeof event, sizeof value);
      comes_ ? came(event, value) : went(event);
    }
    zmq_msg_close(&message);
  }
  void went(std::uint16_t event) {
    if (event == ZMQ_EVENT_CONNECTED) is_there_ = true;
    if (event == ZMQ_EVENT_DISCONNECTED) is_gone_ = true;
  }
  // A pair has one other side: the connection that was there first.
  void came(std::uint16_t event, std::uint32_t socket) {
    if (event == ZMQ_EVENT_ACCEPTED) {
      connections_.push_back(socket);
    } else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      is_there_ = true;
    } else if (event == ZMQ_EVENT_DISCONNECTED) {
      const bool is_its = !connections_.empty() && connections_.front() == socket;
      if (is_its && is_there_) is_gone_ = true;
      std::erase(connections_, socket);
    }
  }

  ChannelSettings settings_;
  bool comes_;
  ZmqEnd end_;
  ZmqSocket watch_;
  std::vector<std::uint32_t> connections_;  // in order
  Stopwatch::time_point begin_;
  bool is_there_ = false, is_gone_ = false;
};

// Whoever can connect decides: nobody from elsewhere, unless that is wanted. And what is at the
// place of a local socket, and is none, stays.
void check_meeting_place(const std::string& endpoint, bool remote) {
  constexpr std::string_view kTcp = "tcp://", kIpc = "ipc://";
  if (endpoint.starts_with(kIpc)) {
    const std::filesystem::path path(endpoint.substr(kIpc.size()));
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored) && !std::filesystem::is_socket(path, ignored)) {
      fail_at(endpoint, "there is a file that is no socket", "name a place where nothing is");
    }
    return;
  }
  const std::string_view host =
      endpoint.starts_with(kTcp) ? std::string_view(endpoint).substr(kTcp.size()) : "";
  const bool is_local = host.starts_with("127.") || host.starts_with("localhost:") ||
                        host.starts_with("[::1]:") || host.starts_with("lo:");
  if (!is_local && !remote) {
    fail_at(endpoint, "others than this machine's could connect there, and decide",
            "write it as tcp://127.0.0.1:28000 or ipc:///folder/name");
  }
}

class ZmqListener final : public OutsideListener {
 public:
  explicit ZmqListener(const std::string& endpoint) : end_(endpoint, ZMQ_REP) {
    if (zmq_bind(end_.socket(), endpoint.c_str()) != 0) end_.fail("nobody can listen there");
  }
  std::optional<std::string> next(const std::atomic<bool>& stop) override {
    while (!stop.load(std::memory_order_relaxed)) {
      if (auto text = end_.awaited()) return text;
    }
    return std::nullopt;
  }
  void answer(const std::string& text) override { end_.send(text); }

 private:
  ZmqEnd end_;
};

}  // namespace

std::unique_ptr<OutsideChannel> open_channel(const ChannelSettings& settings) {
  return std::make_unique<ZmqChannel>(settings, false);
}

std::unique_ptr<OutsideChannel> await_peer(const ChannelSettings& settings, bool remote) {
  check_meeting_place(settings.endpoint, remote);
  return std::make_unique<ZmqChannel>(settings, true);
}

std::unique_ptr<OutsideListener> open_listener(const std::string& endpoint) {
  return std::make_unique<ZmqListener>(endpoint);
}

#else

namespace {

[[noreturn]] void lack_zmq(const std::string& endpoint) {
  throw InputError({.field = endpoint}, "this ductile was built without ZeroMQ",
                   "install libzmq3-dev and build it again");
}

}  // namespace

std::unique_ptr<OutsideChannel> open_channel(const ChannelSettings& settings) {
  lack_zmq(settings.endpoint);
}

std::unique_ptr<OutsideChannel> await_peer(const ChannelSettings& settings, bool /*remote*/) {
  lack_zmq(settings.endpoint);
}

std::unique_ptr<OutsideListener> open_listener(const std::string& endpoint) { lack_zmq(endpoint); }

#endif

}  // namespace ductile
