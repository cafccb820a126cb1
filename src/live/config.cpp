#include "live/config.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <pwd.h>

#include "base/error.hpp"
#include "base/members.hpp"
#include "base/text.hpp"
#include "live/http_listener.hpp"
#include "live/metrics_server.hpp"
#include "live/policy_process.hpp"
#include "live/submission.hpp"
#include "simulation/corridor.hpp"
#include "simulation/power_caps.hpp"
#include "workload/platform_file.hpp"
#include "workload/toml_file.hpp"

namespace ductile {
namespace {

/// What a file says of one setting.
class Value {
 public:
  Value(const std::string& path, std::string name, const toml::node& node, const Registry& registry)
      : path_(path), name_(std::move(name)), node_(node), registry_(registry) {}

  std::string text() const { return text(node_); }
  /// What it means, in the words of who knows that.
  template <class Parse>
  auto parsed(const Parse& parse) const {
    const std::string value = text();
    try {
      return parse(value);
    } catch (const InputError& error) {
      fail(node_, error.what(), "");
    }
  }
  /// A text of which somebody else makes something, later.
  template <class Parse>
  std::string checked(const Parse& parse) const {
    parsed(parse);
    return text();
  }
  Duration time(double least_s = 0.1) const {
    const auto value = node_.value<double>();
    if (!value || !(*value >= least_s && *value <= 1e6)) {
      fail(node_, "is no time", fmt::format("write {} to 1000000 seconds", least_s));
    }
    return seconds(*value);
  }
  std::uint64_t count() const {
    const auto* const value = node_.as_integer();
    if (value == nullptr || value->get() < 1) fail(node_, "is no number above 0", "");
    return static_cast<std::uint64_t>(value->get());
  }
  std::int32_t priority() const {
    const auto* const value = node_.as_integer();
    if (value == nullptr || std::abs(value->get()) > 1'000'000) {
      fail(node_, "is no priority", "write a number from -1000000 to 1000000");
    }
    return static_cast<std::int32_t>(value->get());
  }
  SaidPowerCap power_cap() const {
    const Place place{path_, node_.source().begin.line, name_};
    if (node_.is_number()) {
      return {parse_power_cap(fmt::format("{}", *node_.value<double>()), place), place};
    }
    if (!node_.is_string()) fail(node_, "is no power", "write watts from 0 to 1e9, or \"none\"");
    return {parse_power_cap(text(), place), place};
  }
  SaidCorridor corridor() const {
    const Place place{path_, node_.source().begin.line, name_};
    const std::string said = text();
    return {said == "none" ? std::vector<CorridorLine>() : read_corridor(said, place), place};
  }
  bool flag() const {
    if (!node_.is_boolean()) fail(node_, "is neither true nor false", "");
    return *node_.value<bool>();
  }
  std::string policy() const {
    return checked([&](const std::string& settings) {
      check_elsewhere(registry_, settings);
      return settings;
    });
  }
  std::vector<std::uint32_t> users() const {
    const toml::array* const list = node_.as_array();
    if (list == nullptr) fail(node_, "is no list", "write it like [\"ada\", \"grace\"]");
    std::vector<std::uint32_t> users;
    for (const toml::node& item : *list) {
      users.push_back(user(item, text(item)));
    }
    return users;
  }
  std::vector<UserShare> shares() const {
    const toml::table* const table = node_.as_table();
    if (table == nullptr) fail(node_, "is no table", "write it like { ada = 2, grace = 0.5 }");
    std::vector<UserShare> shares;
    for (const auto& [name, item] : *table) {
      const auto share = item.value<double>();
      if (!share || !(*share > 0 && *share <= 1e9)) {
        fail(item, "is no share", "write a number above 0");
      }
      shares.push_back({user(item, std::string(name.str())), *share});
    }
    return shares;
  }

  [[noreturn]] void fail(const toml::node& at, const std::string& what,
                         const std::string& remedy) const {
    throw InputError({path_, at.source().begin.line, name_}, what, remedy);
  }

 private:
  std::string text(const toml::node& node) const {
    if (const auto* value = node.as_string()) return value->get();
    fail(node, "is no text", "put it in quotes");
  }

  std::uint32_t user(const toml::node& at, const std::string& name) const {
    const passwd* const entry = getpwnam(name.c_str());
    if (entry == nullptr) fail(at, "there is no user '" + name + "'", "");
    return entry->pw_uid;
  }

  const std::string& path_;
  std::string name_;
  const toml::node& node_;
  const Registry& registry_;
};

struct Setting {
  std::string_view name;
  void (*read)(const Value&, ServeSettings&);
};

constexpr Setting kSettings[] = {
    {"local", [](const Value& v, ServeSettings& s) { s.platform = v.parsed(parse_local); }},
    {"platform",
     [](const Value& v, ServeSettings& s) {
       s.platform = v.parsed([](const std::string& path) { return read_platform_to_serve(path); });
     }},
    {"partition", [](const Value& v, ServeSettings& s) { s.partition = v.text(); }},
    {"hands_over", [](const Value& v, ServeSettings& s) { s.hands_over = v.text(); }},
    {"policy", [](const Value& v, ServeSettings& s) { s.policy = v.policy(); }},
    {"fallback", [](const Value& v, ServeSettings& s) { s.fallback = v.policy(); }},
    {"policy_timeout_s", [](const Value& v, ServeSettings& s) { s.policy_timeout = v.time(0.1); }},
    {"policy_memory",
     [](const Value& v, ServeSettings& s) { s.policy_memory = v.parsed(parse_memory); }},
    {"fairness",
     [](const Value& v, ServeSettings& s) {
       s.fairness = v.parsed([](const std::string& text) { return parse_fairness(text); });
     }},
    {"placement",
     [](const Value& v, ServeSettings& s) { s.placement = v.parsed(parse_placement); }},
    {"power_cap_w", [](const Value& v, ServeSettings& s) { s.power_cap = v.power_cap(); }},
    {"corridor", [](const Value& v, ServeSettings& s) { s.corridor = v.corridor(); }},
    {"estimates", [](const Value& v, ServeSettings& s) { s.predicts = v.parsed(parse_predicts); }},
    {"models", [](const Value& v, ServeSettings& s) { s.models = v.parsed(parse_models); }},
    {"state", [](const Value& v, ServeSettings& s) { s.state = v.text(); }},
    {"socket", [](const Value& v, ServeSettings& s) { s.socket = v.text(); }},
    {"metrics", [](const Value& v, ServeSettings& s) { s.metrics = v.checked(parse_address); }},
    {"listen", [](const Value& v, ServeSettings& s) { s.listen = v.checked(parse_address); }},
    {"http",
     [](const Value& v, ServeSettings& s) {
       s.http = v.checked([](const std::string& address) {
         check_http_address(address);
         return address;
       });
     }},
    {"http_token", [](const Value& v, ServeSettings& s) { s.http_token = v.text(); }},
    {"http_write", [](const Value& v, ServeSettings& s) { s.http_write = v.flag(); }},
    {"munge_socket", [](const Value& v, ServeSettings& s) { s.munge_socket = v.text(); }},
    {"default_time",
     [](const Value& v, ServeSettings& s) { s.default_time = v.parsed(parse_limit); }},
    {"retry_s", [](const Value& v, ServeSettings& s) { s.retry = v.time(); }},
    {"resize_deadline_s", [](const Value& v, ServeSettings& s) { s.resize_deadline = v.time(); }},
    {"patience_s", [](const Value& v, ServeSettings& s) { s.patience = v.time(); }},
    {"measure_s", [](const Value& v, ServeSettings& s) { s.measure = v.time(0.5); }},
    {"watts_from",
     [](const Value& v, ServeSettings& s) { s.watts_from = v.checked(check_watts_from); }},
    {"power_from", [](const Value& v, ServeSettings& s) { s.power_from = v.text(); }},
    {"idle_s", [](const Value& v, ServeSettings& s) { s.idle = v.time(); }},
    {"operators", [](const Value& v, ServeSettings& s) { s.operators = v.users(); }},
    {"max_jobs", [](const Value& v, ServeSettings& s) { s.max_jobs = v.count(); }},
    {"max_jobs_per_user",
     [](const Value& v, ServeSettings& s) { s.max_jobs_per_user = v.count(); }},
    {"max_running_jobs_per_user",
     [](const Value& v, ServeSettings& s) { s.max_running_jobs_per_user = v.count(); }},
    {"max_running_nodes_per_user",
     [](const Value& v, ServeSettings& s) { s.max_running_nodes_per_user = v.count(); }},
    {"max_priority", [](const Value& v, ServeSettings& s) { s.max_priority = v.priority(); }},
    {"shares", [](const Value& v, ServeSettings& s) { s.shares = v.shares(); }},
    {"cgroups", [](const Value& v, ServeSettings& s) { s.cgroups = v.flag(); }},
    {"default_memory",
     [](const Value& v, ServeSettings& s) { s.default_memory = v.parsed(parse_memory); }},
    {"max_processes_per_node",
     [](const Value& v, ServeSettings& s) { s.max_processes_per_node = v.count(); }},
};

// All but the program, and what is said on the command line alone: `restored`, `until_idle`. Two of
// them say what the platform is.
static_assert(members<ServeSettings>() == std::size(kSettings) + 2);

}  // namespace

void read_configuration(const std::string& path, const Registry& registry,
                        ServeSettings& settings) {
  const toml::table root = read_toml(path, "give the name of a TOML file");
  for (const auto& [key, node] : root) {
    const Value value(path, std::string(key.str()), node, registry);
    const auto* const known = std::ranges::find(kSettings, key.str(), &Setting::name);
    if (known == std::end(kSettings)) {
      std::string names;
      for (const Setting& each : kSettings)
        names.append(names.empty() ? "" : ", ").append(each.name);
      value.fail(node, "there is no such setting", "use one of " + names);
    }
    known->read(value, settings);
  }
}

bool parse_predicts(const std::string& text) {
  if (text == "requested" || text == "predicted") return text == "predicted";
  throw InputError("there are no estimates '" + text + "'", "use requested or predicted");
}

Placement parse_placement(const std::string& text) {
  if (const auto how = from_word<Placement>(kPlacementWords, text)) return *how;
  throw InputError(fmt::format("'{}' is no placement", text),
                   "write first, contiguous, compact or spread");
}

Models parse_models(const std::string& text) {
  if (const auto models = from_word<Models>(kModelsWords, text)) return *models;
  throw InputError("there are no models '" + text + "'", "use " + listed(kModelsWords));
}

std::string with_shares(const std::string& policy, const std::vector<UserShare>& shares) {
  if (shares.empty()) return policy;
  return fmt::format("{}{}shares={}", policy, policy.find(':') == std::string::npos ? ':' : ',',
                     to_text(shares));
}

void check_watts_from(const std::string& pattern) {
  const std::string remedy = "write the whole path, like /run/watts/%j/%n";
  if (pattern.empty()) return;
  if (pattern.front() != '/') throw InputError("'" + pattern + "' does not begin with '/'", remedy);
  if (pattern.find("%n") == std::string::npos) {
    throw InputError("'" + pattern + "' has no %n, the number of a node", remedy);
  }
}

Platform parse_local(const std::string& text) {
  std::string_view rest = text;
  const auto nodes = parse_number<Nodes>(next_part(rest, 'x'));
  const auto cores = parse_number<std::uint32_t>(rest);
  if (!nodes || !cores || *nodes < 1 || *nodes > 4096 || *cores < 1 || *cores > 4096) {
    throw InputError("'" + text + "' is not NODESxCORES",
                     "write it like 4x2, each number from 1 to 4096");
  }
  return {.nodes = *nodes, .cores_per_node = *cores};
}

}  // namespace ductile
