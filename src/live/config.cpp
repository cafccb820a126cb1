#include "live/config.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <pwd.h>
#include <toml++/toml.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "live/metrics_server.hpp"
#include "live/submission.hpp"
#include "policies/registry.hpp"

namespace ductile {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Configuration read() {
    std::ifstream file(path_, std::ios::binary);
    if (!file) {
      throw InputError({.file = path_}, std::strerror(errno), "give the name of a TOML file");
    }
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    toml::table root;
    try {
      root = toml::parse(bytes, std::string_view{path_});
    } catch (const toml::parse_error& error) {
      throw InputError({path_, error.source().begin.line, ""}, std::string(error.description()),
                       "write TOML");
    }
    for (const auto& [key, node] : root) setting(std::string(key.str()), node);
    return std::move(configuration_);
  }

 private:
  void setting(const std::string& name, const toml::node& node) {
    const auto at = [&](const auto& read) {
      try {
        return read();
      } catch (const InputError& error) {
        fail(node, name, error.what(), "");
      }
    };
    Configuration& c = configuration_;
    if (name == "local") {
      const std::string value = text(name, node);
      c.local = at([&] { return parse_local(value); });
    } else if (name == "policy") {
      c.policy = text(name, node);
      at([&] { return make_policy(*c.policy); });
    } else if (name == "fairness") {
      const std::string value = text(name, node);
      c.fairness = at([&] { return parse_fairness(value); });
    } else if (name == "state") {
      c.state = text(name, node);
    } else if (name == "socket") {
      c.socket = text(name, node);
    } else if (name == "metrics") {
      c.metrics = text(name, node);
      at([&] { return parse_address(*c.metrics); });
    } else if (name == "default_time") {
      const std::string value = text(name, node);
      c.default_time = at([&] { return parse_limit(value); });
    } else if (name == "retry_s") {
      c.retry = time(name, node);
    } else if (name == "patience_s") {
      c.patience = time(name, node);
    } else if (name == "operators") {
      c.operators = users(name, node);
    } else if (name == "max_jobs") {
      c.max_jobs = count(name, node);
    } else if (name == "max_jobs_per_user") {
      c.max_jobs_per_user = count(name, node);
    } else if (name == "max_running_jobs_per_user") {
      c.max_running_jobs_per_user = count(name, node);
    } else if (name == "max_running_nodes_per_user") {
      c.max_running_nodes_per_user = count(name, node);
    } else if (name == "cgroups") {
      c.cgroups = node.value<bool>();
      if (!node.is_boolean()) fail(node, name, "is neither true nor false", "");
    } else {
      fail(node, name, "there is no such setting",
           "use one of local, policy, fairness, state, socket, metrics, default_time, retry_s, "
           "patience_s, "
           "operators, max_jobs, max_jobs_per_user, max_running_jobs_per_user, "
           "max_running_nodes_per_user, cgroups");
    }
  }

  std::string text(const std::string& name, const toml::node& node) const {
    if (const auto* value = node.as_string()) return value->get();
    fail(node, name, "is no text", "put it in quotes");
  }
  Duration time(const std::string& name, const toml::node& node) const {
    const auto value = node.value<double>();
    if (!value || !(*value >= 0.1 && *value <= 1e6)) {
      fail(node, name, "is no time", "write 0.1 to 1000000 seconds");
    }
    return seconds(*value);
  }
  std::uint64_t count(const std::string& name, const toml::node& node) const {
    const auto* const value = node.as_integer();
    if (value == nullptr || value->get() < 1) fail(node, name, "is no number above 0", "");
    return static_cast<std::uint64_t>(value->get());
  }
  std::vector<std::uint32_t> users(const std::string& name, const toml::node& node) const {
    const toml::array* const list = node.as_array();
    if (list == nullptr) fail(node, name, "is no list", "write it like [\"ada\", \"grace\"]");
    std::vector<std::uint32_t> users;
    for (const toml::node& item : *list) {
      const std::string user = text(name, item);
      const passwd* const entry = getpwnam(user.c_str());
      if (entry == nullptr) fail(item, name, "there is no user '" + user + "'", "");
      users.push_back(entry->pw_uid);
    }
    return users;
  }

  [[noreturn]] void fail(const toml::node& at, const std::string& field, const std::string& what,
                         const std::string& remedy) const {
    throw InputError({path_, at.source().begin.line, field}, what, remedy);
  }

  const std::string& path_;
  Configuration configuration_{};
};

}  // namespace

Configuration read_configuration(const std::string& path) { return Reader(path).read(); }

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
