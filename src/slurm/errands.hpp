// Calls that take a while, made one after another by a thread of their own.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "job/socket.hpp"

namespace ductile {

/// An errand is a call, made by the other thread, and what is to be done here when it has come
/// back: the call returns that. They are made in the order in which they were given, and come back
/// in it.
class Errands {
 public:
  using Return = std::function<void()>;
  using Call = std::function<Return()>;

  /// Not by another thread but at once, for tests; what they return waits all the same.
  enum class How { apart, at_once };
  explicit Errands(How how = How::apart);
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;
  /// Waits for the one that is under way; those behind it are not made.
  ~Errands();

  void give(Call call);
  /// To be read when something has come back.
  const Descriptor& descriptor() const { return awake_; }
  /// Does what those returned that have come back. What a call has thrown is thrown here.
  void take();
  /// So many are under way, or have come back and are not taken.
  std::size_t count() const { return given_ - taken_; }

 private:
  void work();
  void make(const Call& call);

  Descriptor awake_;
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<Call> calls_{};
  std::deque<Return> returns_{};
  std::exception_ptr error_{};
  bool ends_ = false;
  std::size_t given_ = 0, taken_ = 0;
  std::thread thread_{};
};

}  // namespace ductile
