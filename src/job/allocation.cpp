#include "job/allocation.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/process.hpp"

namespace ductile {
namespace {

constexpr std::uint32_t kMostRepeated = 1'000'000;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What this program writes to stdout, without white space at its end; empty if it fails.
std::string output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  try {
    words.front() = find_program(words.front());
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  } catch (const InputError&) {
    return {};
  }
  const Descriptor out(ends[0]);
  Descriptor in(ends[1]);
  pid_t child = -1;
  try {
    child = start_session(words, environment_with({}), [&]() -> const char* {
      dup2(in.get(), STDOUT_FILENO);
      return nullptr;
    });
  } catch (const RunError&) {
    return {};
  }
  in.reset();
  std::string text;
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t got = read(out.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (exit_code(status) != 0) return {};
  text.erase(text.find_last_not_of(" \n\t") + 1);
  return text;
}

bool is_of_this_host_alone(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* const its = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(its->sin_addr.s_addr) >> 24 == 127;
  }
  const auto* const its = reinterpret_cast<const sockaddr_in6*>(address);
  return IN6_IS_ADDR_LOOPBACK(&its->sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&its->sin6_addr);
}

}  // namespace

std::optional<std::uint64_t> slurm_job() {
  return parse_number<std::uint64_t>(variable("SLURM_JOB_ID"));
}

std::optional<std::vector<std::uint32_t>> parse_repeated(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  while (!text.empty()) {
    std::string_view times = next_part(text, ',');
    const auto number = parse_number<std::uint32_t>(next_part(times, '('));
    std::optional<std::uint32_t> count = 1;
    if (times.starts_with('x') && times.ends_with(')')) {
      count = parse_number<std::uint32_t>(times.substr(1, times.size() - 2));
    } else if (!times.empty()) {
      return std::nullopt;
    }
    if (!number || !count || *count > kMostRepeated - numbers.size()) return std::nullopt;
    numbers.insert(numbers.end(), *count, *number);
  }
  return numbers;
}

std::vector<Host> hosts_of_allocation(std::uint32_t cores) {
  const std::string job = variable("SLURM_JOB_ID");
  std::string list = output_of({"squeue", "-h", "-j", job, "-o", "%N"});
  if (list.empty()) list = variable("SLURM_JOB_NODELIST");
  const std::string names =
      list.empty() ? std::string() : output_of({"scontrol", "show", "hostnames", list});
  if (names.empty()) {
    throw RunError("the nodes of job " + job +
                   " cannot be found out: neither squeue and scontrol nor "
                   "SLURM_JOB_NODELIST say which ones they are");
  }
  if (cores == 0) cores = parse_number<std::uint32_t>(variable("SLURM_CPUS_PER_TASK")).value_or(1);
  const auto said = parse_number<std::uint32_t>(variable("SLURM_NTASKS_PER_NODE"));
  // Nodes that have come since are as the last one.
  const auto cpus = parse_repeated(variable("SLURM_JOB_CPUS_PER_NODE"));
  std::vector<Host> hosts;
  for (std::string_view rest = names; !rest.empty();) {
    Host host{.name = std::string(next_part(rest, '\n'))};
    if (said) {
      host.slots = *said;
    } else if (cpus && !cpus->empty()) {
      host.slots = (*cpus)[std::min(hosts.size(), cpus->size() - 1)] / std::max(cores, 1U);
    }
    host.slots = std::max(host.slots, 1U);
    hosts.push_back(std::move(host));
  }
  return hosts;
}

void forget_allocation() {
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NUM_NODES",
                           "SLURM_NNODES", "SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE",
                           "SLURM_NTASKS_PER_NODE", "SLURM_NTASKS", "SLURM_NPROCS"}) {
    unsetenv(name);
  }
}

std::string address_of_this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.data(), nullptr, &hints, &found) != 0) return "127.0.0.1";
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    char text[NI_MAXHOST] = "";
    const bool is_known = !is_of_this_host_alone(each->ai_addr) &&
                          getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr,
                                      0, NI_NUMERICHOST) == 0;
    if (is_known) return text;
  }
  return "127.0.0.1";
}

}  // namespace ductile
