// Orders for a size to a program that stays and does itself what is to be done: one at a time, each
// answered once. No clock and no I/O.
//
//   settled   the program and those who give orders agree on its size
//   asked     it has been told another one, and has not answered
//   recalled  the order was given up, and the program was told its old size: until it has said that
//             it has that, there is no other order, since an answer that comes late must not be
//             taken for one to that
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace ductile {

class ScriptOrders {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State { settled, asked, recalled };

  /// What came of an order: the program has `size` now, which is `from` if that failed.
  struct Outcome {
    std::uint32_t from = 0, to = 0, size = 0;
    bool is_done = false;
    std::string error{};  // why not
    Clock::duration time{};
  };

  /// A program that does not answer within `patience` refuses.
  ScriptOrders(std::uint32_t size, std::chrono::milliseconds patience)
      : size_(size), patience_(patience) {}

  State state() const { return state_; }
  /// What the program has, or had before the order that is open.
  std::uint32_t size() const { return size_; }
  /// What it is to have.
  std::uint32_t wanted() const { return wanted_; }
  /// When it has to have answered.
  Clock::time_point deadline() const {
    return state_ == State::asked ? asked_at_ + patience_ : Clock::time_point::max();
  }

  /// The program is told to have `size`; it is settled. At the size that it has, it is told other
  /// places.
  void ask(std::uint32_t size, Clock::time_point now);
  /// The program says that it has this size, or what it was to have. Empty; or why that cannot be,
  /// and nothing has changed.
  std::string on_size(std::optional<std::uint32_t> size, Clock::time_point now);
  /// It will not.
  std::string on_refusal(const std::string& why, Clock::time_point now);
  /// Somebody gives it up; nothing if there is none. Then the program is to be told its old size.
  void recall(const std::string& why, Clock::time_point now);
  /// Nobody waits for an answer any more, and nobody will ask again.
  void end(const std::string& why, Clock::time_point now);
  /// What came of the last order; once.
  std::optional<Outcome> take_outcome();

 private:
  void settle(std::uint32_t size, bool is_done, const std::string& error, Clock::time_point now);

  std::uint32_t size_, wanted_ = size_;
  std::chrono::milliseconds patience_;
  State state_ = State::settled;
  Clock::time_point asked_at_{};
  std::optional<Outcome> outcome_{};
};

}  // namespace ductile
