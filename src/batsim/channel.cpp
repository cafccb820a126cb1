#include "batsim/channel.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

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

constexpr long kPollMilliseconds = 100;
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
  }

  [[noreturn]] void fail(const std::string& what) const {
    fail_at(endpoint_, fmt::format("{}: {}", what, zmq_strerror(zmq_errno())),
            "write it as tcp://127.0.0.1:28000 or ipc:///folder/name");
  }
  void send(const std::string& text) {
    if (zmq_send(socket_.get(), text.data(), text.size(), 0) < 0) fail("nothing can be sent");
  }
  // What is there, if something is.
  std::optional<std::string> received() {
    zmq_msg_t message;
    zmq_msg_init(&message);
    std::optional<std::string> text;
    if (zmq_msg_recv(&message, socket_.get(), ZMQ_DONTWAIT) >= 0) {
      text.emplace(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    }
    zmq_msg_close(&message);
    return text;
  }
  void* socket() const { return socket_.get(); }
  void* context() const { return context_.get(); }
  const std::string& endpoint() const { return endpoint_; }

 private:
  std::string endpoint_;
  std::unique_ptr<void, EndContext> context_;
  ZmqSocket socket_;
};

class ZmqChannel final : public BatsimChannel {
 public:
  explicit ZmqChannel(ChannelSettings settings)
      : settings_(std::move(settings)), end_(settings_.endpoint, ZMQ_REQ) {
    constexpr const char* kWatch = "inproc://watch";
    zmq_socket_monitor(end_.socket(), kWatch,
                       ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED);
    watch_.reset(zmq_socket(end_.context(), ZMQ_PAIR));
    zmq_connect(watch_.get(), kWatch);
    if (zmq_connect(end_.socket(), settings_.endpoint.c_str()) != 0) {
      end_.fail("nobody can be asked there");
    }
  }
  ~ZmqChannel() override { zmq_socket_monitor(end_.socket(), nullptr, 0); }
  ZmqChannel(const ZmqChannel&) = delete;
  ZmqChannel& operator=(const ZmqChannel&) = delete;

  std::string ask(const std::string& text) override {
    const auto begin = Stopwatch::now();
    end_.send(text);
    while (true) {
      std::array<zmq_pollitem_t, 2> items{
          {{end_.socket(), 0, ZMQ_POLLIN, 0}, {watch_.get(), 0, ZMQ_POLLIN, 0}}};
      zmq_poll(items.data(), static_cast<int>(items.size()), kPollMilliseconds);
      if (auto answer = end_.received()) return *std::move(answer);
      look();
      if (is_gone_) {
        fail_at(end_.endpoint(), "the scheduler is gone, and has not answered",
                "see what it says itself");
      }
      const std::chrono::duration<double> waited = Stopwatch::now() - begin;
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
                "start one that listens there, or check the address");
      }
      if (!is_there_ && waited.count() > 1 && settings_.waiting) {
        std::exchange(settings_.waiting, {})();
      }
    }
  }

 private:
  // Has the other side come, or gone?
  void look() {
    zmq_msg_t message;
    zmq_msg_init(&message);
    // Two parts: number and value of the event, and the address.
    for (bool is_first = true; zmq_msg_recv(&message, watch_.get(), ZMQ_DONTWAIT) >= 0;
         is_first = zmq_msg_more(&message) == 0) {
      std::uint16_t event = 0;
      if (!is_first || zmq_msg_size(&message) < sizeof event) continue;
      std::memcpy(&event, zmq_msg_data(&message), sizeof event);
      if (event == ZMQ_EVENT_CONNECTED) is_there_ = true;
      if (event == ZMQ_EVENT_DISCONNECTED) is_gone_ = true;
    }
    zmq_msg_close(&message);
  }

  ChannelSettings settings_;
  ZmqEnd end_;
  ZmqSocket watch_;
  bool is_there_ = false, is_gone_ = false;
};

class ZmqListener final : public BatsimListener {
 public:
  explicit ZmqListener(const std::string& endpoint) : end_(endpoint, ZMQ_REP) {
    if (zmq_bind(end_.socket(), endpoint.c_str()) != 0) end_.fail("nobody can listen there");
  }
  std::optional<std::string> next(const std::atomic<bool>& stop) override {
    while (!stop.load(std::memory_order_relaxed)) {
      zmq_pollitem_t item{end_.socket(), 0, ZMQ_POLLIN, 0};
      zmq_poll(&item, 1, kPollMilliseconds);
      if (auto text = end_.received()) return text;
    }
    return std::nullopt;
  }
  void answer(const std::string& text) override { end_.send(text); }

 private:
  ZmqEnd end_;
};

}  // namespace

std::unique_ptr<BatsimChannel> open_channel(const ChannelSettings& settings) {
  return std::make_unique<ZmqChannel>(settings);
}

std::unique_ptr<BatsimListener> open_listener(const std::string& endpoint) {
  return std::make_unique<ZmqListener>(endpoint);
}

#else

namespace {

[[noreturn]] void lack_zmq(const std::string& endpoint) {
  throw InputError({.field = endpoint}, "this ductile was built without ZeroMQ",
                   "install libzmq3-dev and build it again");
}

}  // namespace

std::unique_ptr<BatsimChannel> open_channel(const ChannelSettings& settings) {
  lack_zmq(settings.endpoint);
}

std::unique_ptr<BatsimListener> open_listener(const std::string& endpoint) { lack_zmq(endpoint); }

#endif

}  // namespace ductile
