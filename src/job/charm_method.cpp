#include "job/charm_method.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error.hpp"
#include "job/affinity.hpp"
#include "job/charm_leftovers.hpp"
#include "job/private_network.hpp"

namespace ductile {
namespace {

/// From one question for its size to the next, and at most while nobody answers that has not
/// answered yet: each of them costs a process (private_network.hpp).
constexpr std::chrono::milliseconds kAgain{20}, kMostPause{1000};
/// A question that has no answer by then may have gone to a program that has begun anew since; or
/// it is busy, so that the next one waits twice as long.
constexpr std::chrono::milliseconds kMostPatience{8000};
/// A program that has answered an order, and has its old size for so long, did not know such orders
/// then: Charm++ answers those as well. It may have begun anew and not be there yet, so that it is
/// told again; but not for longer than that.
constexpr std::chrono::seconds kUnchanged{1}, kNotThere{10};

/// Processes that are being started are not what they will be.
constexpr std::chrono::milliseconds kSweepAgain{200};
constexpr std::chrono::seconds kSweeping{5};

/// Called as ssh is, with what is to be done on stdin. All is on this host.
constexpr const char* kShell = "exec /bin/bash -f\n";

double seconds_since(ResizeMethod::Clock::time_point begin, ResizeMethod::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// That nobody uses now; nor in a network that nobody else is in.
std::uint16_t free_port() {
  const std::string address = local_address(listen_tcp("127.0.0.1"));
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

void write_private(const std::string& path, std::string_view text) {
  const mode_t others = umask(077);
  std::ofstream file(path);
  umask(others);
  if (!(file << text << std::flush)) {
    throw std::system_error(errno, std::generic_category(), "'" + path + "' cannot be written");
  }
}

/// A host for each process: charmrun shrinks only those that it has started first, and these are
/// one on each host. All are this one.
std::string hosts_for(std::uint32_t most) {
  constexpr std::uint32_t kEach = 250;
  std::string text = "group main\n";
  for (std::uint32_t i = 0; i < most; ++i) {
    text += fmt::format("host 127.0.{}.{}\n", i / kEach, i % kEach + 1);
  }
  return text;
}

/// `set_bitmap`: for each process whether it stays, the new number as this machine writes it, and
/// the end of a text.
std::string bitmap(std::uint32_t from, std::uint32_t to) {
  std::string data(from, '\0');
  for (std::uint32_t i = 0; i < std::min(from, to); ++i) data[i] = 1;
  const auto number = std::bit_cast<std::array<char, sizeof to>>(to);
  data.append(number.data(), number.size());
  return data + '\0';
}

/// `ccs_getinfo`: how many nodes of Charm++, and the processors of each.
std::optional<std::uint32_t> size_in(std::string_view answer) {
  if (answer.size() < 4) return std::nullopt;
  std::uint32_t size = 0;
  std::memcpy(&size, answer.data(), sizeof size);
  return ntohl(size);
}

}  // namespace

void refuse_charmrun_words(const std::vector<std::string>& program) {
  constexpr std::array<std::string_view, 10> kOwn = {
      "++server", "++server-port", "++server-auth", "++nodelist", "++remote-shell",
      "++useip",  "++local",       "++mpiexec",     "++n",        "++np"};
  for (const std::string& word : program) {
    const bool is_number =
        word.starts_with("+p") && word.size() > 2 && word[2] >= '0' && word[2] <= '9';
    const bool is_own = is_number || word == "+p" || word == "++p" ||
                        word == "+shrinkexpand_basedir" ||
                        std::ranges::find(kOwn, word) != kOwn.end();
    if (is_own) {
      throw InputError({.field = "PROGRAM"}, "'" + word + "' is said to charmrun by ductile run",
                       "drop it, and say -n for the processes");
    }
  }
}

CharmMethod::CharmMethod(const RunSettings& settings)
    : settings_(settings),
      folder_(JobFolder::Place::memory),
      port_(free_port()),
      is_private_(can_have_private_network()),
      size_(settings.size) {
  write_private(folder_.path() + "/key", to_line(key_));
  write_private(folder_.path() + "/shell", kShell);
  write_private(folder_.path() + "/hosts", hosts_for(settings.max));
  const std::string checkpoint = folder_.path() + "/checkpoint";
  if (mkdir(checkpoint.c_str(), 0700) != 0) {
    throw std::system_error(errno, std::generic_category(), "'" + checkpoint + "' cannot be made");
  }
  if (is_private_) return;
  spdlog::warn(
      "the program cannot have a network of its own: others on this host can connect to its port "
      "{}; they can give no orders, for which they lack the key, but can hold it up",
      port_);
}

// ---- The program --------------------------------------------------------------------------------

std::optional<Launcher> CharmMethod::launcher(const Target& target) {
  Launcher launcher = settings_.launcher;
  const std::string& folder = folder_.path();
  for (std::string word :
       {"+p" + std::to_string(target.size), std::string("++server"), std::string("++server-port"),
        std::to_string(port_), std::string("++server-auth"), folder + "/key",
        std::string("++nodelist"), folder + "/hosts", std::string("++remote-shell"),
        "/bin/sh " + folder + "/shell", std::string("++useip"), std::string("127.0.0.1"),
        std::string("+shrinkexpand_basedir"), folder + "/checkpoint"}) {
    launcher.program.push_back(std::move(word));
  }
  return launcher;
}

std::function<const char*()> CharmMethod::prepare() const {
  return is_private_ ? enter_private_network : nullptr;
}

std::string CharmMethod::why_not_ready() const {
  return "the program does not answer by CCS" +
         (why_no_answer_.empty() ? "" : ": " + why_no_answer_);
}

/// To charmrun.
Descriptor CharmMethod::connect() const {
  Descriptor made =
      is_private_ ? socket_in_network_of(program_->process.pid)
                  : Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS) {
    throw std::system_error(errno, std::generic_category(), "no connection");
  }
  return made;
}

// ---- A resize -----------------------------------------------------------------------------------

std::optional<std::string> CharmMethod::objection(const Target& /*target*/) const {
  if (phase_ == Phase::running || phase_ == Phase::starting) return std::nullopt;
  return fmt::format("the program has not come to where it hears that it is to have {} again",
                     wanted_);
}

void CharmMethod::begin(const Target& target, Clock::time_point now) {
  target_ = target;
  begun_ = now;
  is_awaited_ = true;
  if (!target.cpus.empty() && !program_->cpus.empty()) {
    keep_to(united(program_->cpus, target.cpus));
  }
  phase_ = Phase::asked;
  if (target.size == size_) return settle("", now);  // it moves only
  tell(target.size);
}

void CharmMethod::tell(std::uint32_t size) {
  wanted_ = size;
  lost_at_.reset();
  query_.reset();
  told_at_ = Clock::now();
  query_at_ = told_at_ + kUnchanged;
  order_.emplace([this] { return connect(); }, key_, CcsRequest{"set_bitmap", bitmap(size_, size)});
}

void CharmMethod::give_up(const std::string& reason) {
  if (phase_ != Phase::asked) return;  // it has begun, and cannot be held
  settle(reason, Clock::now());
  phase_ = Phase::recalled;
  tell(size_);
}

std::optional<ResizeMethod::Outcome> CharmMethod::look(Clock::time_point now) {
  look_after(now);
  return std::exchange(outcome_, std::nullopt);
}

void CharmMethod::look_after(Clock::time_point now) {
  if (program_->status) return;
  if (phase_ == Phase::running) sweep(now);
  if (order_) look_after_order(now);
  const bool is_to_be_asked = phase_ != Phase::running && phase_ != Phase::asked;
  if (is_to_be_asked) look_after_size(now);
}

/// It answers when it has come to the step at which it starts itself again.
void CharmMethod::look_after_order(Clock::time_point now) {
  if (order_->answer()) {
    order_.reset();
    pause_ = kAgain;
    stopped_ = query_at_ = now;
    phase_ = Phase::restarting;
  } else if (order_->is_over() && phase_ == Phase::asked) {
    // It may be at its end, of which there will be word.
    if (!lost_at_) lost_at_ = now;
    if (now < *lost_at_ + kUnchanged) return;
    settle("the program takes no orders by CCS: " + order_->error(), now);
    // It may have heard it all the same, and have another size already: it is asked, then told.
    phase_ = Phase::recalled;
    wanted_ = size_;
    query_at_ = now;
  } else if (order_->is_over()) {
    order_.reset();
  } else if (phase_ == Phase::asked && now >= told_at_ + settings_.script.ack_timeout) {
    give_up(fmt::format("the program has not come to a step of load balancing for {:.1f} s",
                        std::chrono::duration<double>(settings_.script.ack_timeout).count()));
  }
}

void CharmMethod::look_after_size(Clock::time_point now) {
  if (query_ && query_->is_over()) {
    const auto size = take_size();
    patience_ = kFirstPatience;
    const auto most = phase_ == Phase::starting ? kMostPause : kFirstPatience;
    pause_ = size ? kAgain : std::min(2 * pause_, most);
    query_at_ = now + (size && phase_ == Phase::recalled ? kUnchanged : pause_);
    if (size) return on_size(*size, now);
  }
  if (now < query_at_) return;
  query_.emplace([this] { return connect(); }, key_, CcsRequest{"ccs_getinfo", ""});
  query_at_ = now + patience_;
  patience_ = std::min(2 * patience_, kMostPatience);
}

/// That it has answered; nothing if it cannot have such a size, or has not answered.
std::optional<std::uint32_t> CharmMethod::take_size() {
  const auto size = query_->answer() ? size_in(*query_->answer()) : std::nullopt;
  why_no_answer_ = query_->error();
  query_.reset();
  if (!size) return std::nullopt;
  const bool is_possible =
      phase_ == Phase::starting ? *size == size_ : *size > 0 && *size <= settings_.max;
  if (is_possible) return size;
  why_no_answer_ = fmt::format("it has {} processes, not {}", *size, wanted_);
  return std::nullopt;
}

void CharmMethod::on_size(std::uint32_t size, Clock::time_point now) {
  if (phase_ == Phase::starting) {
    phase_ = Phase::running;
    return;
  }
  if (phase_ == Phase::recalled) {
    // It had begun to change when the order was given up, or has not heard yet that it was.
    const bool has_changed = size != std::exchange(size_, size);
    if (has_changed || !order_) tell(wanted_);
    return;
  }
  if (size == wanted_) {
    size_ = size;
    return settle("", now);
  }
  if (now < stopped_ + kUnchanged) return;
  if (size == size_ &&
      now < begun_ + std::min<Clock::duration>(kNotThere, settings_.script.ack_timeout)) {
    phase_ = Phase::asked;
    return tell(wanted_);
  }
  if (size == size_) {
    return settle(fmt::format("the program has {} processes still: its Charm++ was not built with "
                              "--enable-shrinkexpand",
                              size),
                  now);
  }
  size_ = size;
  phase_ = Phase::recalled;
  tell(wanted_);
}

/// Of the processes that an expansion has left behind.
void CharmMethod::sweep(Clock::time_point now) {
  if (now < sweep_at_) return;
  const auto count = end_left_behind(program_->process.pid, size_, folder_.path());
  const bool is_over = count || now > stopped_ + kSweeping;
  sweep_at_ = is_over ? Clock::time_point::max() : now + kSweepAgain;
  if (count.value_or(0) > 0) spdlog::debug("{} processes were left behind, killed", *count);
}

/// Done, or given up.
void CharmMethod::settle(const std::string& error, Clock::time_point now) {
  phase_ = Phase::running;
  order_.reset();
  query_.reset();
  const bool is_done = error.empty();
  if (is_done) {
    sweep_at_ = now;
    sweep(now);
  }
  if (is_done && is_awaited_) program_->cpus = target_.cpus;
  keep_to(program_->cpus);
  if (!std::exchange(is_awaited_, false)) return;
  outcome_ = {.error = error};
  if (!is_done) return;
  const bool has_stopped = stopped_ > begun_;
  outcome_->details["answer_s"] = seconds_since(begun_, has_stopped ? stopped_ : now);
  outcome_->details["pause_s"] = has_stopped ? seconds_since(stopped_, now) : 0.0;
}

ResizeMethod::Clock::time_point CharmMethod::next() const {
  if (program_->status) return Clock::time_point::max();
  switch (phase_) {
    case Phase::asked:
      return lost_at_ ? *lost_at_ + kUnchanged : told_at_ + settings_.script.ack_timeout;
    case Phase::starting:
    case Phase::recalled:
    case Phase::restarting:
      return query_at_;
    case Phase::running:
      return sweep_at_;
  }
  return Clock::time_point::max();
}

/// What is done before in the same turn may end a call, or make another one in its place.
void CharmMethod::add_to(Poller& poller) {
  for (auto* const call : {&order_, &query_}) {
    if (!*call) continue;
    (*call)->add_to(poller, [call] {
      if (*call) (*call)->go_on();
    });
  }
}

/// All its processes.
void CharmMethod::keep_to(const NodeSet& cpus) const {
  if (!cpus.empty()) set_affinity_of_descendants(cpus);
}

// ---- What is told -------------------------------------------------------------------------------

ResizeMethod::Json CharmMethod::status() const {
  return {{"port", port_}, {"network", is_private_ ? "own" : "shared"}};
}

}  // namespace ductile
