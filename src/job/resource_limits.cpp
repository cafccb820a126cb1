#include "job/resource_limits.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

/// Named as in limits.conf(5) and systemd.
constexpr std::pair<std::string_view, int> kNames[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
    {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK}};
constexpr std::string_view kUnlimited = "unlimited";

std::optional<rlim_t> parse_value(std::string_view text) {
  if (text == kUnlimited) return RLIM_INFINITY;
  return parse_number<rlim_t>(text);
}

void append_value(std::string& text, rlim_t value) {
  if (value == RLIM_INFINITY) {
    text += kUnlimited;
  } else {
    append_number(text, value);
  }
}

}  // namespace

ResourceLimits own_limits() {
  ResourceLimits limits;
  for (const auto& [name, resource] : kNames) {
    ResourceLimit limit{.resource = resource};
    if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit.values) == 0) {
      limits.push_back(limit);
    }
  }
  return limits;
}

ResourceLimits parse_limits(std::string_view text) {
  ResourceLimits limits;
  while (!text.empty()) {
    const std::string_view part = next_part(text, ',');
    std::string_view hard = part;
    std::string_view soft = next_part(hard, ':');
    const std::string_view word = next_part(soft, '=');
    const auto* const name =
        std::ranges::find(kNames, word, &std::pair<std::string_view, int>::first);
    const auto least = parse_value(soft), most = parse_value(hard);
    if (name == std::end(kNames) || !least || !most || *least > *most) {
      throw InputError("'" + std::string(part) + "' is no resource limit",
                       "write it like core=0:unlimited, a soft and a hard one");
    }
    limits.push_back({name->second, {*least, *most}});
  }
  return limits;
}

std::string to_text(const ResourceLimits& limits) {
  std::string text;
  for (const ResourceLimit& limit : limits) {
    const auto* const name =
        std::ranges::find(kNames, limit.resource, &std::pair<std::string_view, int>::second);
    text.append(text.empty() ? "" : ",").append(name->first).append("=");
    append_value(text, limit.values.rlim_cur);
    text += ':';
    append_value(text, limit.values.rlim_max);
  }
  return text;
}

void set_limits(const ResourceLimits& limits) {
  for (const ResourceLimit& limit : limits) {
    const auto resource = static_cast<__rlimit_resource_t>(limit.resource);
    rlimit now{};
    if (getrlimit(resource, &now) != 0) continue;
    now.rlim_max = std::min(now.rlim_max, limit.values.rlim_max);
    now.rlim_cur = std::min(now.rlim_max, limit.values.rlim_cur);
    setrlimit(resource, &now);
  }
}

}  // namespace ductile
