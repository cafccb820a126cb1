#include "workload/platform_file.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/node_set.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "model/switch_tree.hpp"
#include "workload/toml_file.hpp"

namespace ductile {
namespace {

constexpr std::size_t kMostClasses = 64;
constexpr std::size_t kMostCells = 64;
constexpr std::size_t kMostReservations = 32;
constexpr std::size_t kMostQos = 256;
constexpr std::size_t kLongestName = 63;
constexpr Nodes kMostPlatformNodes = Nodes{1} << 24;

class PlatformReader {
 public:
  explicit PlatformReader(const std::string& file) : file_(file) {}

  PlatformFile read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string_view name = key.str();
      if (name != "class" && name != "partition" && name != "qos" && name != "switch" &&
          name != "reservation" && name != "step") {
        fail(node, std::string(name), "a platform has no such field",
             "it has [[class]], [[partition]], [[qos]], [[switch]], [[reservation]] and [[step]]");
      }
    }
    const std::vector<const toml::table*> classes = tables(root, "class");
    if (classes.empty()) {
      throw InputError({.file = file_}, "it has no nodes", "write [[class]] with name and count");
    }
    check_number(classes, "class", kMostClasses);
    for (const toml::table* table : classes) node_class(*table);
    place_nodes();
    const std::vector<const toml::table*> partitions = tables(root, "partition");
    check_number(partitions, "partition", kMostPartitions);
    for (const toml::table* table : partitions) partition(*table);
    check_cells(partitions);
    put_default_first();
    const std::vector<const toml::table*> all_qos = tables(root, "qos");
    check_number(all_qos, "qos", kMostQos);
    for (const toml::table* table : all_qos) qos(*table);
    switches(tables(root, "switch"));
    const std::vector<const toml::table*> steps = tables(root, "step");
    check_number(steps, "step", kMostSteps);
    for (const toml::table* table : steps) step(*table);
    const std::vector<const toml::table*> reservations = tables(root, "reservation");
    check_number(reservations, "reservation", kMostReservations);
    for (const toml::table* table : reservations) reservation(*table);
    std::ranges::stable_sort(result_.reservations, {}, [](const FileReservation& its) {
      return std::pair(its.count > 0, its.count > 0 ? its.from : Time{});
    });
    const NodeClass& first = platform().classes.front();
    platform().cores_per_node = first.has.cores;
    platform().idle_w = first.idle_w;
    platform().busy_w = first.busy_w;
    platform().off_w = first.off_w;
    platform().boot_time = first.boot_time;
    return std::move(result_);
  }

 private:
  Platform& platform() { return result_.platform; }

  [[noreturn]] void fail(const toml::node& at, const std::string& field, const std::string& what,
                         const std::string& remedy) const {
    throw InputError({file_, at.source().begin.line, field}, what, remedy);
  }

  std::vector<const toml::table*> tables(const toml::table& root, const std::string& name) const {
    std::vector<const toml::table*> result;
    const toml::node* node = root.get(name);
    if (!node) return result;
    const toml::array* list = node->as_array();
    if (!list) fail(*node, name, "is no list of tables", "write [[" + name + "]]");
    for (const toml::node& item : *list) {
      if (!item.is_table()) fail(item, name, "is no table", "write [[" + name + "]]");
      result.push_back(item.as_table());
    }
    return result;
  }

  void check_number(const std::vector<const toml::table*>& all, const std::string& what,
                    std::size_t most) const {
    if (all.size() <= most) return;
    fail(*all[most], what, fmt::format("there are more than {}", most), "put some together");
  }

  // ---- Values -----------------------------------------------------------------------------------

  std::string text(const std::string& field, const toml::node& node) const {
    if (const auto* value = node.as_string()) return value->get();
    fail(node, field, "is no text", "put it in quotes");
  }

  /// Names are words of options and of tables.
  std::string name(const std::string& field, const toml::node& node) const {
    std::string value = text(field, node);
    check_name(field, node, value);
    return value;
  }
  void check_name(const std::string& field, const toml::node& node,
                  const std::string& value) const {
    const bool is_word = std::ranges::all_of(value, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             c == '_' || c == '-' || c == '.' || c == '+';
    });
    if (!value.empty() && value.size() <= kLongestName && is_word) return;
    fail(node, field, "'" + printable(value) + "' is no name",
         fmt::format("use up to {} letters, digits and _-.+", kLongestName));
  }

  template <class Number>
  Number whole(const std::string& field, const toml::node& node, std::int64_t least,
               std::int64_t most) const {
    const auto* value = node.as_integer();
    if (!value || value->get() < least || value->get() > most) {
      fail(node, field, "is no whole number that is possible",
           fmt::format("write one from {} to {}", least, most));
    }
    return static_cast<Number>(value->get());
  }

  double real(const std::string& field, const toml::node& node, double least, double most) const {
    const bool is_number = node.is_integer() || node.is_floating_point();
    const auto value = is_number ? node.value<double>() : std::nullopt;
    if (!value || !(*value >= least && *value <= most)) {
      fail(node, field, "is no number that is possible",
           fmt::format("write one from {} to {}", least, most));
    }
    return *value;
  }

  /// What `parse` makes of a text, as options have it.
  template <class Parse>
  auto parsed(const std::string& field, const toml::node& node, const Parse& parse,
              const std::string& remedy) const {
    const std::string value = text(field, node);
    try {
      return parse(value);
    } catch (const InputError&) {
      fail(node, field, "'" + printable(value) + "' is not possible", remedy);
    }
  }

  std::uint32_t memory_mb(const std::string& field, const toml::node& node) const {
    const char* const remedy = "write it like \"64G\", with K, M, G or T";
    const auto bytes = parsed(field, node, parse_memory, remedy);
    const std::uint64_t megabytes = bytes >> 20;
    if (megabytes == 0 || megabytes > std::numeric_limits<std::uint32_t>::max()) {
      fail(node, field, "is no size of memory that a node may have", remedy);
    }
    return static_cast<std::uint32_t>(megabytes);
  }

  NodeSet nodes_of_text(const std::string& field, const toml::node& node, const char* what) const {
    const std::string value = text(field, node);
    const auto set = parse_node_set(value);
    if (!set || set->empty()) {
      fail(node, field, "'" + printable(value) + "' " + what, "write their numbers like \"0-3,7\"");
    }
    return *set;
  }

  NodeSet nodes(const std::string& field, const toml::node& node) const {
    const std::optional<NodeSet> set = nodes_of_text(field, node, "are no nodes");
    if (set->parts.back().last >= kMostPlatformNodes) {
      fail(node, field, fmt::format("{} is no number of a node", set->parts.back().last),
           fmt::format("write numbers below {}", kMostPlatformNodes));
    }
    return *set;
  }

  // ---- Classes ----------------------------------------------------------------------------------

  void node_class(const toml::table& table) {
    NodeClass its;
    its.has.cores = 1;
    std::optional<Nodes> count;
    for (const auto& [key, node] : table) {
      const std::string field(key.str());
      if (field == "name") {
        its.name = name(field, node);
      } else if (field == "count") {
        count = whole<Nodes>(field, node, 1, kMostPlatformNodes);
      } else if (field == "nodes") {
        its.nodes = nodes(field, node);
      } else if (field == "cores") {
        its.has.cores = whole<std::uint16_t>(field, node, 1, 65'535);
      } else if (field == "sockets") {
        its.sockets = whole<std::uint16_t>(field, node, 1, 1024);
      } else if (field == "memory") {
        its.has.memory_mb = memory_mb(field, node);
      } else if (field == "gres") {
        things(its, node);
      } else if (field == "speed") {
        its.speed = real(field, node, 1e-3, 1e3);
      } else if (field == "idle_w") {
        its.idle_w = real(field, node, 0, 1e6);
      } else if (field == "busy_w") {
        its.busy_w = real(field, node, 0, 1e6);
      } else if (field == "off_w") {
        its.off_w = real(field, node, 0, 1e6);
      } else if (field == "boot_time_s") {
        its.boot_time = seconds(real(field, node, 0, 1e6));
      } else if (field == "weight") {
        its.weight = whole<std::uint32_t>(field, node, 0, 1'000'000);
      } else if (field == "features") {
        its.features = features(node);
      } else {
        fail(node, field, "a class has no such field",
             "it has name, count or nodes, cores, sockets, memory, gres, features, speed, idle_w, "
             "busy_w, off_w, boot_time_s and weight");
      }
    }
    if (its.name.empty()) fail(table, "class", "has no name", "write name = \"...\"");
    const bool is_twice = std::ranges::find(platform().classes, its.name, &NodeClass::name) !=
                          platform().classes.end();
    if (is_twice) {
      fail(table, "class", "'" + its.name + "' is there twice", "give each a name of its own");
    }
    if (count.has_value() == !its.nodes.empty()) {
      fail(table, "class", count ? "has both count and nodes" : "has no nodes",
           "write count, or nodes with their numbers");
    }
    if (its.sockets > its.has.cores) {
      fail(table, "sockets", fmt::format("{} are more than the cores", its.sockets),
           "each has a core at least");
    }
    if (its.busy_w < its.idle_w) {
      fail(table, "busy_w", "is less than idle_w", "say what a node draws that computes");
    }
    if (its.off_w > its.idle_w) {
      fail(table, "off_w", "is more than idle_w", "say what a node draws that is switched off");
    }
    counts_.push_back(count.value_or(0));
    at_.push_back(&table);
    platform().classes.push_back(std::move(its));
  }

  std::vector<std::string> features(const toml::node& node) const {
    const toml::array* const list = node.as_array();
    if (!list) fail(node, "features", "is no list", "write it like [\"ib\", \"avx512\"]");
    std::vector<std::string> all;
    for (const toml::node& item : *list) {
      std::string word = name("features", item);
      if (std::ranges::find(all, word) != all.end()) {
        fail(item, "features", "'" + word + "' is there twice", "name each once");
      }
      all.push_back(std::move(word));
    }
    return all;
  }

  void things(NodeClass& its, const toml::node& node) {
    const toml::table* const table = node.as_table();
    if (!table) fail(node, "gres", "is no table", "write it like { gpu = 2 }");
    for (const auto& [key, item] : *table) {
      const std::string thing(key.str());
      check_name("gres", item, thing);
      auto at = std::ranges::find(platform().things, thing);
      if (at == platform().things.end()) {
        if (platform().things.size() == Slice::kThings) {
          fail(item, "gres", fmt::format("there are more than {} things", Slice::kThings),
               "leave out those that nobody asks for");
        }
        at = platform().things.insert(at, thing);
      }
      const auto place = static_cast<std::size_t>(at - platform().things.begin());
      its.has.things.at(place) = whole<std::uint16_t>("gres", item, 0, 65'535);
    }
  }

  /// Those that say their numbers first; the others take the lowest that are left, in order.
  void place_nodes() {
    NodeSet taken;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const NodeClass& its = platform().classes[i];
      if (!taken.intersects(its.nodes)) {
        taken.insert(its.nodes);
        continue;
      }
      fail(
          *at_[i], "nodes",
          fmt::format("{} are of another class already", to_string(intersection(taken, its.nodes))),
          "each node is of one class");
    }
    std::uint64_t all = taken.count();
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      all += counts_[i];
      if (all > kMostPlatformNodes) {
        fail(*at_[i], "count", fmt::format("there are more than {} nodes", kMostPlatformNodes),
             "have fewer");
      }
    }
    const auto total = static_cast<Nodes>(all);
    NodeSet left;
    left.insert(0, total - 1);
    left.erase(taken);
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      NodeClass& its = platform().classes[i];
      if (counts_[i] == 0) {
        if (its.nodes.parts.back().last < total) continue;
        fail(*at_[i], "nodes",
             fmt::format("there is a node {}, and {} nodes in all", its.nodes.parts.back().last,
                         total),
             "number them from 0 without a gap");
      }
      its.nodes = left.take_lowest(counts_[i]);
    }
    platform().nodes = total;
  }

  // ---- Steps of frequency -----------------------------------------------------------------------

  void step(const toml::table& table) {
    std::optional<double> speed, power;
    for (const auto& [key, node] : table) {
      const std::string field(key.str());
      if (field == "speed") {
        speed = real(field, node, 1e-3, 1);
      } else if (field == "power") {
        power = real(field, node, 0, 1);
      } else {
        fail(node, field, "a step has no such field", "it has speed and power");
      }
    }
    if (!speed) fail(table, "speed", "is missing", "say how fast nodes are at it, of 1");
    if (!power) fail(table, "power", "is missing", "say what they draw above idle at it, of 1");
    const FrequencyStep above =
        platform().steps.empty() ? FrequencyStep{} : platform().steps.back();
    if (*speed >= above.speed) {
      fail(table, "speed", "is no lower than that of the step before, or 1",
           "let each step be slower than the one before");
    }
    if (*power >= above.power) {
      fail(table, "power", "is no lower than that of the step before, or 1",
           "leave out steps that save nothing");
    }
    platform().steps.push_back({*speed, *power});
  }

  // ---- Partitions -------------------------------------------------------------------------------

  void partition(const toml::table& table) {
    Partition its;
    bool is_said = false;
    auto number = static_cast<std::int64_t>(platform().partitions.size() + 1);
    for (const auto& [key, node] : table) {
      const std::string field(key.str());
      if (field == "name") {
        its.name = name(field, node);
      } else if (field == "classes") {
        is_said = true;
        its.nodes.insert(nodes_of_classes(node));
      } else if (field == "nodes") {
        is_said = true;
        const NodeSet more = nodes(field, node);
        if (more.parts.back().last >= platform().nodes) {
          fail(node, field, fmt::format("there is no node {}", more.parts.back().last),
               fmt::format("there are 0 to {}", platform().nodes - 1));
        }
        its.nodes.insert(more);
      } else if (field == "max_time") {
        its.max_walltime =
            parsed(field, node, parse_limit, "write minutes, H:M:S or D-H:M:S, in quotes");
      } else if (field == "number") {
        number = whole<std::int64_t>(field, node, 0, std::numeric_limits<std::int32_t>::max());
      } else if (field == "priority") {
        its.priority = whole<std::uint32_t>(field, node, 0, 65'535);
      } else if (field == "max_nodes") {
        its.max_nodes = whole<Nodes>(field, node, 1, kMostPlatformNodes);
      } else if (field == "users") {
        its.users = users(node);
      } else if (field == "default") {
        const auto* is_default = node.as_boolean();
        if (!is_default) fail(node, field, "is neither true nor false", "write default = true");
        if (is_default->get() && default_) {
          fail(node, field, "another partition is the default one", "let one of them be it");
        }
        if (is_default->get()) default_ = platform().partitions.size();
      } else {
        fail(node, field, "a partition has no such field",
             "it has name, classes, nodes, max_time, max_nodes, users, number, priority and "
             "default");
      }
    }
    if (its.name.empty()) fail(table, "partition", "has no name", "write name = \"...\"");
    if (std::ranges::find(platform().partitions, its.name, &Partition::name) !=
        platform().partitions.end()) {
      fail(table, "partition", "'" + its.name + "' is there twice", "give each a name of its own");
    }
    if (std::ranges::find(result_.numbers, number) != result_.numbers.end()) {
      fail(table, "number", fmt::format("{} is that of another one", number),
           "give each a number of its own");
    }
    if (!is_said) its.nodes.insert(0, platform().nodes - 1);
    platform().partitions.push_back(std::move(its));
    result_.numbers.push_back(number);
  }

  std::vector<std::uint32_t> users(const toml::node& node) const {
    const toml::array* const list = node.as_array();
    if (!list || list->empty()) {
      fail(node, "users", "is no list", "write their numbers, as [1001, 1002]");
    }
    std::vector<std::uint32_t> all;
    for (const toml::node& item : *list) {
      all.push_back(
          whole<std::uint32_t>("users", item, 0, std::numeric_limits<std::uint32_t>::max()));
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  // Who names none is in the first one.
  void put_default_first() {
    if (!default_) return;
    const auto at = static_cast<std::ptrdiff_t>(*default_);
    const auto first = [at](auto& all) {
      std::rotate(all.begin(), all.begin() + at, all.begin() + at + 1);
    };
    first(platform().partitions);
    first(result_.numbers);
  }

  void qos(const toml::table& table) {
    Qos its;
    auto number = static_cast<std::int64_t>(platform().qos.size() + 1);
    for (const auto& [key, node] : table) {
      const std::string field(key.str());
      if (field == "name") {
        its.name = name(field, node);
      } else if (field == "priority") {
        its.priority = whole<std::uint32_t>(field, node, 0, 65'535);
      } else if (field == "number") {
        number = whole<std::int64_t>(field, node, 0, std::numeric_limits<std::int32_t>::max());
      } else {
        fail(node, field, "a QOS has no such field", "it has name, priority and number");
      }
    }
    if (its.name.empty()) fail(table, "qos", "has no name", "write name = \"...\"");
    if (std::ranges::find(platform().qos, its.name, &Qos::name) != platform().qos.end()) {
      fail(table, "qos", "'" + its.name + "' is there twice", "give each a name of its own");
    }
    if (std::ranges::find(result_.qos_numbers, number) != result_.qos_numbers.end()) {
      fail(table, "number", fmt::format("{} is that of another one", number),
           "give each a number of its own");
    }
    platform().qos.push_back(std::move(its));
    result_.qos_numbers.push_back(number);
  }

  // ---- Switches ---------------------------------------------------------------------------------

  /// One of the file, in its order.
  struct FileSwitch {
    const toml::table* table = nullptr;
    Switch its;                          // `above` by its place in the file
    const toml::array* below = nullptr;  // names; null: a leaf
  };

  FileSwitch read_switch(const toml::table& table) const {
    FileSwitch found{.table = &table, .its = {}};
    for (const auto& [key, node] : table) {
      const std::string field(key.str());
      if (field == "name") {
        found.its.name = name(field, node);
      } else if (field == "nodes") {
        found.its.nodes = nodes(field, node);
        if (found.its.nodes.parts.back().last >= result_.platform.nodes) {
          fail(node, field, fmt::format("there is no node {}", found.its.nodes.parts.back().last),
               fmt::format("there are 0 to {}", result_.platform.nodes - 1));
        }
      } else if (field == "switches") {
        found.below = node.as_array();
        if (!found.below || found.below->empty()) {
          fail(node, field, "is no list", "write it like [\"s1\", \"s2\"]");
        }
      } else {
        fail(node, field, "a switch has no such field", "it has name, and nodes or switches");
      }
    }
    if (found.its.name.empty()) fail(table, "switch", "has no name", "write name = \"...\"");
    if ((found.below != nullptr) == !found.its.nodes.empty()) {
      fail(table, "switch", found.below ? "has both nodes and switches" : "has nothing below it",
           "write nodes with their numbers, or switches with their names");
    }
    return found;
  }

  void switches(const std::vector<const toml::table*>& tables) {
    check_number(tables, "switch", kMostSwitches);
    std::vector<FileSwitch> all;
    std::map<std::string, std::uint32_t> by_name;
    for (const toml::table* table : tables) {
      FileSwitch next = read_switch(*table);
      if (!by_name.emplace(next.its.name, static_cast<std::uint32_t>(all.size())).second) {
        fail(*table, "switch", "'" + next.its.name + "' is there twice",
             "give each a name of its own");
      }
      all.push_back(std::move(next));
    }
    check_leaves(all);
    std::vector<std::uint32_t> below(all.size(), 0);  // that are not placed
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      if (!all[i].below) continue;
      for (const toml::node& item : *all[i].below) {
        const std::string word = text("switches", item);
        const auto at = by_name.find(word);
        if (at == by_name.end()) {
          fail(item, "switches", "there is no switch '" + printable(word) + "'",
               "write a [[switch]] of that name");
        }
        Switch& its = all[at->second].its;
        if (its.above != kNoSwitch) {
          fail(item, "switches", "'" + word + "' is below " + all[its.above].its.name + " already",
               "each switch is below one other at most");
        }
        its.above = i;
        ++below[i];
      }
    }
    // Each behind all that are below it.
    std::vector<std::uint32_t> order, place(all.size(), kNoSwitch);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      if (below[i] == 0) order.push_back(i);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<std::uint32_t>(i);
      const std::uint32_t above = all[order[i]].its.above;
      if (above != kNoSwitch && --below[above] == 0) order.push_back(above);
    }
    const auto in_circle = std::ranges::find(place, kNoSwitch);
    if (in_circle != place.end()) {
      const FileSwitch& its = all[static_cast<std::size_t>(in_circle - place.begin())];
      fail(*its.table, "switches", "'" + its.its.name + "' is below itself",
           "let switches be a tree");
    }
    for (const std::uint32_t i : order) {
      Switch& its = all[i].its;
      if (its.above != kNoSwitch) its.above = place[its.above];
      platform().switches.push_back(std::move(its));
    }
  }

  void check_leaves(const std::vector<FileSwitch>& all) const {
    std::vector<std::pair<Interval, std::size_t>> parts;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const Interval& part : all[i].its.nodes.parts) parts.emplace_back(part, i);
    }
    std::ranges::sort(parts, {}, [](const auto& its) { return its.first.first; });
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const auto& [part, number] = parts[i];
      const auto& [before, other] = parts[i - 1];
      if (part.first > before.last) continue;
      const auto [earlier, later] = std::minmax(number, other);
      fail(*all[later].table, "nodes",
           fmt::format("node {} is on {} already", part.first, all[earlier].its.name),
           "each node is on one switch at most");
    }
  }

  // ---- Reservations -----------------------------------------------------------------------------

  void reservation(const toml::table& table) {
    constexpr double kLatest = 1e12;
    FileReservation its{.line = table.source().begin.line};
    bool has_from = false;
    for (const auto& [key, node] : table) {
      const std::string field(key.str());
      if (field == "name") {
        its.name = name(field, node);
      } else if (field == "from_s") {
        its.from = Time(seconds(real(field, node, 0, kLatest)));
        has_from = true;
      } else if (field == "to_s") {
        its.to = Time(seconds(real(field, node, 0, kLatest)));
      } else if (field == "nodes") {
        its.nodes = nodes(field, node);
        if (its.nodes.parts.back().last >= platform().nodes) {
          fail(node, field, fmt::format("there is no node {}", its.nodes.parts.back().last),
               fmt::format("there are 0 to {}", platform().nodes - 1));
        }
      } else if (field == "count") {
        its.count = whole<Nodes>(field, node, 1, platform().nodes);
      } else if (field == "watts") {
        its.watts = real(field, node, 0, 1e9);
      } else if (field == "jobs") {
        its.jobs = nodes_of_text(field, node, "are no numbers of jobs");
      } else {
        fail(node, field, "a reservation has no such field",
             "it has name, from_s, to_s, nodes or count, watts and jobs");
      }
    }
    if (its.name.empty()) fail(table, "reservation", "has no name", "write name = \"...\"");
    if (!has_from) fail(table, "from_s", "is missing", "say when it begins, in seconds");
    if (its.to <= its.from) fail(table, "to_s", "is not after from_s", "let it end later");
    if (!its.nodes.empty() && its.count > 0) {
      fail(table, "count", "has both count and nodes", "write one of them");
    }
    const bool has_nodes = its.count > 0 || !its.nodes.empty();
    if (!has_nodes && its.watts == 0) {
      fail(table, "reservation", "reserves nothing", "write nodes, count or watts");
    }
    if (!its.jobs.empty() && (!has_nodes || its.watts > 0)) {
      fail(table, "jobs", "power is reserved for nobody",
           "reserve nodes for jobs, and watts in another one");
    }
    for (const FileReservation& other : result_.reservations) {
      if (other.name == its.name) {
        fail(table, "reservation", "'" + its.name + "' is there twice",
             "give each a name of its own");
      }
      if (other.from < its.to && its.from < other.to && other.nodes.intersects(its.nodes)) {
        fail(table, "nodes",
             fmt::format("{} are reserved as {} then",
                         to_string(intersection(other.nodes, its.nodes)), other.name),
             "a node is in one reservation at a time");
      }
    }
    result_.reservations.push_back(std::move(its));
  }

  NodeSet nodes_of_classes(const toml::node& node) {
    const toml::array* const list = node.as_array();
    if (!list || list->empty()) {
      fail(node, "classes", "is no list", "write it like [\"std\", \"big\"]");
    }
    NodeSet nodes;
    for (const toml::node& item : *list) {
      const std::string word = text("classes", item);
      const auto at = std::ranges::find(platform().classes, word, &NodeClass::name);
      if (at == platform().classes.end()) {
        std::vector<std::string> known;
        for (const NodeClass& each : platform().classes) known.push_back(each.name);
        fail(item, "classes", "there is no class '" + printable(word) + "'",
             "use one of " + listed(known));
      }
      nodes.insert(at->nodes);
    }
    return nodes;
  }

  /// Nodes that are in the same partitions, and of one class, are alike; of kinds there are only so
  /// many.
  void check_cells(const std::vector<const toml::table*>& at) {
    std::vector<NodeSet> cells;
    for (const NodeClass& its : platform().classes) cells.push_back(its.nodes);
    for (std::size_t i = 0; i < at.size(); ++i) {
      std::vector<NodeSet> parts;
      for (const NodeSet& cell : cells) {
        for (NodeSet part : {intersection(cell, platform().partitions[i].nodes),
                             difference(cell, platform().partitions[i].nodes)}) {
          if (!part.empty()) parts.push_back(std::move(part));
        }
      }
      cells = std::move(parts);
      if (cells.size() > kMostCells) {
        fail(*at[i], "partition",
             fmt::format("classes and partitions make more than {} kinds of nodes", kMostCells),
             "have fewer of them, or let their borders be the same");
      }
    }
  }

  const std::string& file_;
  PlatformFile result_;
  std::optional<std::size_t> default_;  // of the partitions
  std::vector<Nodes> counts_;           // of each class; 0: it says its nodes
  std::vector<const toml::table*> at_;  // of each class
};

}  // namespace

PlatformFile read_platform_file(const std::string& path) {
  return PlatformReader(path).read(read_toml(path, "give the name of a platform file"));
}

Platform read_platform_to_serve(const std::string& path) {
  PlatformFile file = read_platform_file(path);
  if (!file.platform.steps.empty()) {
    throw InputError({.file = path, .field = "step"},
                     "a cluster that is served sets no frequencies: a job's nodes keep theirs",
                     "leave `[[step]]` away; `ductile simulate --slow-for-power` has steps");
  }
  if (file.reservations.empty()) return std::move(file.platform);
  throw InputError({.file = path, .field = "reservation"},
                   "the reservations of a cluster are made while it is served",
                   "leave them away, and use `ductile reserve`");
}

PlatformFile parse_platform_file(std::string_view bytes, const std::string& name) {
  return PlatformReader(name).read(parse_toml(bytes, name));
}

}  // namespace ductile
