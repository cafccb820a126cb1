#include "live/metrics_server.hpp"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

constexpr auto kScrapePatience = std::chrono::seconds(2);
constexpr std::size_t kThreads = 2;
constexpr std::size_t kMostWaiting = 16;

/// As httplib's own, but it does not take connections without end: more than these wait at the
/// door, where the system keeps few.
class Workers final : public httplib::TaskQueue {
 public:
  Workers() {
    for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
  }

  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < kMostWaiting; });
    waiting_.push_back(std::move(task));
    changed_.notify_all();
  }

  /// Connections that wait are never answered, and closed by the end of the process.
  void shutdown() override {
    {
      const std::lock_guard guard(mutex_);
      is_ended_ = true;
      waiting_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_ended_ || !waiting_.empty(); });
      if (is_ended_) return;
      const std::function<void()> task = std::move(waiting_.front());
      waiting_.pop_front();
      changed_.notify_all();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<std::function<void()>> waiting_{};
  bool is_ended_ = false;
  std::vector<std::thread> threads_{};
};

}  // namespace

std::pair<std::string, std::uint16_t> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
  const auto port = parse_number<std::uint16_t>(colon == std::string::npos
                                                    ? std::string_view(text)
                                                    : std::string_view(text).substr(colon + 1));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (!port || *port == 0 || host.empty()) {
    throw InputError("'" + text + "' is no HOST:PORT", "write for example 127.0.0.1:9480");
  }
  return {std::move(host), *port};
}

MetricsServer::MetricsServer(const std::string& address)
    : server_(std::make_unique<httplib::Server>()), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const auto [host, port] = parse_address(address);
  server_->new_task_queue = [] { return new Workers; };
  server_->set_socket_options([](socket_t socket) {  // not shared with another controller
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server_->set_keep_alive_max_count(1);  // who stays keeps nobody else out
  server_->set_read_timeout(kScrapePatience);
  server_->set_write_timeout(kScrapePatience);
  server_->set_payload_max_length(1024);
  server_->Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
    std::future<std::string> text = ask();
    if (text.wait_for(kScrapePatience) != std::future_status::ready) {
      response.status = 503;
      return;
    }
    response.set_content(text.get(), "application/openmetrics-text; version=1.0.0; charset=utf-8");
  });
  if (!server_->bind_to_port(host, port)) {
    throw InputError("nothing can listen at '" + address + "': " + std::strerror(errno),
                     "give another address with --metrics");
  }
  thread_ = std::thread([this] { server_->listen_after_bind(); });
  // One that does not listen yet could not be stopped.
  while (!server_->is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

MetricsServer::~MetricsServer() {
  server_->stop();
  thread_.join();
}

std::future<std::string> MetricsServer::ask() {
  const std::lock_guard guard(mutex_);
  constexpr std::uint64_t kOne = 1;
  std::future<std::string> text = waiting_.emplace_back().get_future();
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &kOne, sizeof kOne);
  return text;
}

void MetricsServer::add_to(Poller& poller, const std::function<std::string()>& write) {
  poller.add(wake_, POLLIN, [this, write] {
    std::uint64_t ignored = 0;
    if (read(wake_.get(), &ignored, sizeof ignored) < 0) return;
    std::vector<std::promise<std::string>> waiting;
    {
      const std::lock_guard guard(mutex_);
      waiting.swap(waiting_);
    }
    const std::string text = write();
    for (auto& its : waiting) its.set_value(text);
  });
}

}  // namespace ductile
