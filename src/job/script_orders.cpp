#include "job/script_orders.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ductile {

void ScriptOrders::ask(std::uint32_t size, Clock::time_point now) {
  state_ = State::asked;
  wanted_ = size;
  asked_at_ = now;
}

std::string ScriptOrders::on_size(std::optional<std::uint32_t> size, Clock::time_point now) {
  if (state_ == State::asked) {
    const std::uint32_t has = size.value_or(wanted_);
    const auto [least, most] = std::minmax(size_, wanted_);
    if (has < least || has > most) {
      return fmt::format("{} is not between the {} that it has and the {} that it is to have", has,
                         size_, wanted_);
    }
    const bool is_done = has != size_ || wanted_ == size_;
    settle(has, is_done, is_done ? "" : "the program keeps its size", now);
    return {};
  }
  // Without a number it may be the answer to the order that was given up.
  if (state_ == State::recalled && !size) {
    return fmt::format("the order was given up before that; answer with {}, which it is to have",
                       size_);
  }
  if (size.value_or(size_) != size_) {
    return state_ == State::recalled
               ? fmt::format("the order was given up before that; the program is to have {}", size_)
               : fmt::format("there is no order for another size; the program has {}", size_);
  }
  state_ = State::settled;
  return {};
}

std::string ScriptOrders::on_refusal(const std::string& why, Clock::time_point now) {
  if (state_ != State::asked) return on_size(std::nullopt, now);
  settle(size_, false, why.empty() ? "the program refuses" : "the program refuses: " + why, now);
  return {};
}

void ScriptOrders::recall(const std::string& why, Clock::time_point now) {
  if (state_ != State::asked) return;
  settle(size_, false, why, now);
  state_ = State::recalled;
}

void ScriptOrders::end(const std::string& why, Clock::time_point now) {
  if (state_ == State::asked) settle(size_, false, why, now);
  state_ = State::settled;
}

void ScriptOrders::settle(std::uint32_t size, bool is_done, const std::string& error,
                          Clock::time_point now) {
  outcome_ = {.from = size_,
              .to = wanted_,
              .size = size,
              .is_done = is_done,
              .error = error,
              .time = now - asked_at_};
  size_ = wanted_ = size;
  state_ = State::settled;
}

std::optional<ScriptOrders::Outcome> ScriptOrders::take_outcome() {
  return std::exchange(outcome_, std::nullopt);
}

}  // namespace ductile
