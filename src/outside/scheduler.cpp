#include "outside/scheduler.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "scheduling/core.hpp"
#include "scheduling/pass.hpp"

namespace ductile {
namespace {

// One that is only woken by its own calls, and does nothing with them for so long, never will.
constexpr Duration kLongestIdleness = whole_seconds(std::int64_t{30} * 86'400);

}  // namespace

void OutsideScheduler::begin(std::string name, Open open, std::shared_ptr<const Workload> workload,
                             const std::atomic<bool>& stop) {
  name_ = std::move(name);
  open_ = std::move(open);
  workload_ = std::move(workload);
  asked_to_stop_ = &stop;
  prepare();
}

void OutsideScheduler::fail(const std::string& what, const std::string& remedy) const {
  throw InputError({.field = name_}, what, remedy);
}

template <class Do>
void OutsideScheduler::guarded(Do act) {
  try {
    act();
  } catch (const InputError&) {
    // Who stopped the run waits for no answer, and that is no error.
    if (!asked_to_stop_->load(std::memory_order_relaxed)) error_ = std::current_exception();
    stop_ = true;
  }
}

void OutsideScheduler::on_begin(const Core& core) {
  guarded([&] {
    channel_ = open_();
    greet(core);
  });
}

void OutsideScheduler::on_finish(Time now, const Core&) {
  if (error_ || stop_ || asked_to_stop_->load(std::memory_order_relaxed)) return;
  guarded([&] { part(now); });
  channel_.reset();
}

void OutsideScheduler::schedule(Pass& pass) {
  if (error_) return;
  if (!channel_) {
    throw InputError({.field = "policy"},
                     "a scheduler outside of this program decides in a simulation alone",
                     "give it to 'ductile simulate' as the only policy");
  }
  if (asked_to_stop_->load(std::memory_order_relaxed)) {
    stop_ = true;
    return;
  }
  guarded([&] { work(pass); });
}

std::string OutsideScheduler::ask(const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  std::string answer = channel_->ask(text);
  seconds_asked_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ++questions_;
  return answer;
}

void OutsideScheduler::count_question(Time now) {
  if (std::exchange(last_asked_, now) != now) asked_now_ = 0;
  if (++asked_now_ <= kMostQuestionsAtOnce) return;
  fail(fmt::format("the scheduler never comes to an end at {} s: it was asked {} times",
                   seconds_text(now), kMostQuestionsAtOnce),
       "let it be called later");
}

OutsidePolicy::OutsidePolicy(const Parameters& parameters, std::string_view kind,
                             std::unique_ptr<OutsideScheduler> scheduler)
    : kind_(kind),
      endpoint_(parameters.choice("endpoint")),
      timeout_(seconds(parameters.number("timeout"))),
      scheduler_(std::move(scheduler)) {
  traits.answers_requests = true;
  is_outside = true;
  slowest_clock = kLongestIdleness;
}

std::vector<ParameterInfo> outside_parameters(std::string endpoint, std::string summary) {
  return {{.name = "endpoint",
           .type = ParameterType::text,
           .fallback = std::move(endpoint),
           .summary = std::move(summary)},
          {.name = "timeout",
           .type = ParameterType::duration,
           .fallback = "300",
           .min = 0.001,
           .max = 1e9,
           .unit = "s",
           .summary = "how long an answer, or the scheduler, is waited for"}};
}

}  // namespace ductile
