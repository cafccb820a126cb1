#include "workload/simgrid.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/error.hpp"

namespace ductile {
namespace {

constexpr double kMostSimgridNodes = 10'000'000;
constexpr int kDeepestZones = 100;  // zones in zones

// --- Numbers with units --------------------------------------------------------------------------

struct Unit {
  std::string_view name;
  double factor;
};

// "k" and "Ki", "M" and "Mi", ...
std::optional<double> prefix(std::string_view text) {
  constexpr std::string_view kLetters = "kMGTPEZY";
  if (text.empty()) return 1;
  const std::size_t at = kLetters.find(text[0] == 'K' ? 'k' : text[0]);
  if (at == std::string_view::npos) return std::nullopt;
  const auto steps = static_cast<double>(at + 1);
  if (text.size() == 1) return std::pow(1000, steps);
  if (text.size() == 2 && text[1] == 'i') return std::pow(1024, steps);
  return std::nullopt;
}

// The factor of a unit: a prefix and one of these names, or nothing.
std::optional<double> factor_of(std::string_view unit, std::initializer_list<Unit> names) {
  if (unit.empty()) return 1;
  for (const auto& [name, factor] : names) {
    if (!unit.ends_with(name)) continue;
    if (const auto power = prefix(unit.substr(0, unit.size() - name.size()))) {
      return *power * factor;
    }
  }
  return std::nullopt;
}

std::optional<double> speed_factor(std::string_view unit) {
  return factor_of(unit, {{"f", 1}, {"flops", 1}});
}
std::optional<double> bandwidth_factor(std::string_view unit) {
  return factor_of(unit, {{"Bps", 1}, {"bps", 0.125}});
}
std::optional<double> time_factor(std::string_view unit) {
  constexpr std::array<Unit, 10> kUnits = {{{"", 1},
                                            {"s", 1},
                                            {"ms", 1e-3},
                                            {"us", 1e-6},
                                            {"ns", 1e-9},
                                            {"ps", 1e-12},
                                            {"m", 60},
                                            {"h", 3600},
                                            {"d", 86400},
                                            {"w", 604800}}};
  const auto found = std::ranges::find(kUnits, unit, &Unit::name);
  return found == kUnits.end() ? std::nullopt : std::optional(found->factor);
}

// --- The file ------------------------------------------------------------------------------------

// A compute node, or many equal ones.
struct Group {
  std::string zone;  // where it is
  double count = 1;
  SimgridMachine machine;
  std::vector<std::string> targets;  // hosts of the file system; none: all
  bool routed = false;               // it has a link of its own
};

struct Route {
  std::string from, to;
  NetworkPath path;
};

class SimgridReader {
 public:
  SimgridReader(std::string_view text, const std::string& file, std::vector<std::string>& remarks)
      : text_(text), file_(file), remarks_(remarks) {}

  SimgridMachine read();

 private:
  using Node = pugi::xml_node;

  [[noreturn]] void fail(const Node& node, const std::string& field, const std::string& what,
                         const std::string& remedy) const {
    throw InputError({file_, line_of(node.offset_debug()), field}, what, remedy);
  }
  std::uint64_t line_of(std::ptrdiff_t offset) const {
    const auto end = std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text_));
    return 1 + static_cast<std::uint64_t>(std::count(text_.begin(), text_.begin() + end, '\n'));
  }
  void remark(const std::string& what) { ++told_[what]; }

  template <class Factor>
  double number(const Node& node, const std::string& field, std::string_view text, Factor factor,
                const char* example) const;
  double speed(const Node& node, const char* field, std::string_view text) const {
    return number(node, field, text.substr(0, text.find(',')), speed_factor, "100Gf");
  }
  double bandwidth(const Node& node, const char* field, std::string_view text) const {
    return number(node, field, text, bandwidth_factor, "10Gbps or 1GBps");
  }
  double latency(const Node& node, const char* field, std::string_view text) const {
    return number(node, field, text.empty() ? "0" : text, time_factor, "50us");
  }

  void zone(const Node& node, const std::string& name, int depth);
  void cluster(const Node& node, const std::string& zone);
  void host(const Node& node, const std::string& zone);
  void link(const Node& node);
  NetworkPath path(const Node& node) const {
    const std::string_view policy = node.attribute("sharing_policy").value();
    return {bandwidth(node, "bandwidth", node.attribute("bandwidth").value()),
            latency(node, "latency", node.attribute("latency").value()), policy != "FATPIPE"};
  }
  void route(const Node& node);
  double count_of(const Node& cluster) const;
  Group compute_node(const Node& node, const std::string& zone) const;
  NetworkPath between(const Group& group, const std::string& from, const std::string& to);
  SimgridMachine whole();

  std::string_view text_;
  const std::string& file_;
  std::vector<std::string>& remarks_;
  std::map<std::string, std::uint64_t> told_;
  std::map<std::string, std::string> inside_;  // a zone, or a host, and the zone it is in
  std::map<std::string, NetworkPath> links_;
  std::vector<Node> route_nodes_;
  std::vector<Route> routes_;
  std::vector<Group> groups_;
  std::vector<std::string> file_hosts_;
  std::string batch_system_;
};

template <class Factor>
double SimgridReader::number(const Node& node, const std::string& field, std::string_view text,
                             Factor factor, const char* example) const {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto unit = static_cast<std::size_t>(end - text.data());
  const auto scale = error == std::errc{} ? factor(text.substr(unit)) : std::nullopt;
  if (!scale || !(value >= 0) || !std::isfinite(value * *scale)) {
    fail(node, field, fmt::format("'{}' is not understood", text),
         fmt::format("write it as {}", example));
  }
  return value * *scale;
}

// The value of a property, or nothing.
std::string_view property(const pugi::xml_node& node, const char* name) {
  for (const pugi::xml_node& prop : node.children("prop")) {
    if (std::strcmp(prop.attribute("id").value(), name) == 0) {
      return prop.attribute("value").value();
    }
  }
  return {};
}

// In Batsim's platforms: hosts that run no jobs, by their role, or by the name that Batsim looks
// for.
bool only_serves(const pugi::xml_node& node, std::string_view name) {
  const std::string_view role = property(node, "role");
  return role == "master" || role == "storage" || name == "master_host";
}

bool is_router_or_property(std::string_view name) {
  return name == "prop" || name == "router" || name == "route" || name == "ASroute" ||
         name == "zoneRoute" || name == "bypassRoute" || name == "bypassZoneRoute";
}

SimgridMachine SimgridReader::read() {
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    throw InputError({file_, line_of(result.offset), ""}, result.description(),
                     "a SimGrid platform is an XML file");
  }
  const Node platform = document.child("platform");
  if (!platform) {
    throw InputError({.file = file_}, "there is no <platform> in it",
                     "a SimGrid platform is an XML file");
  }
  zone(platform, "", 0);
  for (const Node& node : route_nodes_) route(node);
  SimgridMachine machine = whole();
  for (const auto& [name, way] : links_) machine.link_bytes_per_s[name] = way.bytes_per_s;
  for (const auto& [what, count] : told_) {
    remarks_.push_back(count > 1 ? fmt::format("{} ({} times)", what, count) : what);
  }
  return machine;
}

void SimgridReader::zone(const Node& node, const std::string& name, int depth) {
  if (depth > kDeepestZones) fail(node, "", "zones are too deep in each other", "use fewer");
  const std::size_t first = groups_.size();
  std::optional<NetworkPath> backbone;
  for (const Node& child : node.children()) {
    const std::string_view what = child.name();
    const std::string id = child.attribute("id").value();
    if (what == "zone" || what == "AS") {
      inside_[id] = name;
      zone(child, id, depth + 1);
    } else if (what == "cluster") {
      inside_[id] = name;
      cluster(child, id);
    } else if (what == "cabinet") {
      cluster(child, name);
    } else if (what == "backbone") {
      backbone = path(child);
    } else if (what == "host") {
      inside_[id] = name;
      host(child, name);
    } else if (what == "link") {
      link(child);
    } else if (what == "zoneRoute" || what == "ASroute" || what == "route") {
      route_nodes_.push_back(child);
    } else if (!is_router_or_property(what) && what != "config") {
      if (child.type() == pugi::node_element) remark(fmt::format("<{}> is not read", what));
    }
  }
  if (!backbone) return;
  for (std::size_t i = first; i < groups_.size(); ++i) groups_[i].machine.backbone = *backbone;
}

// "100-227,300": how many that are.
double SimgridReader::count_of(const Node& cluster) const {
  const std::string_view radical = cluster.attribute("radical").value();
  double count = 0;
  for (std::string_view rest = radical;;) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const auto bound = [&](std::string_view text) {
      std::uint32_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc{} || end != text.data() + text.size()) {
        fail(cluster, "radical", fmt::format("'{}' is no range", part), "write it as 0-99");
      }
      return double{} + value;
    };
    const std::size_t dash = part.find('-');
    const double first = bound(part.substr(0, dash));
    const double last = dash == std::string_view::npos ? first : bound(part.substr(dash + 1));
    if (last < first) fail(cluster, "radical", "a range is upside down", "write it as 0-99");
    count += last - first + 1;
    if (part.size() == rest.size()) return count;
    rest.remove_prefix(part.size() + 1);
  }
}

Group SimgridReader::compute_node(const Node& node, const std::string& zone) const {
  Group group;
  group.zone = zone;
  SimgridMachine& machine = group.machine;
  machine.flops_per_s = speed(node, "speed", node.attribute("speed").value());
  const auto is_true = [&](const char* name) { return property(node, name) == "true"; };
  if (is_true("node_local_bb")) {
    machine.buffer_read_bytes_per_s = bandwidth(node, "bb_read_bw", property(node, "bb_read_bw"));
    machine.buffer_write_bytes_per_s =
        bandwidth(node, "bb_write_bw", property(node, "bb_write_bw"));
    machine.buffers_striped = is_true("wide_striping");
    if (const auto flops = property(node, "flops_per_byte"); !flops.empty()) {
      machine.flops_per_striped_byte = speed(node, "flops_per_byte", flops);
    }
  }
  if (const auto gpus = property(node, "num_gpus"); !gpus.empty()) {
    const auto whole = [](std::string_view unit) { return factor_of(unit, {}); };
    constexpr double kMostGpus = 1'000'000;
    const double count = number(node, "num_gpus", gpus, whole, "4");
    if (count != std::floor(count) || count > kMostGpus) {
      fail(node, "num_gpus", "is no whole number up to a million", "write it as 4");
    }
    machine.gpus = static_cast<std::uint32_t>(count);
    if (machine.gpus > 0) {
      machine.flops_per_gpu_s = speed(node, "flops_per_gpu", property(node, "flops_per_gpu"));
    }
    if (machine.gpus > 1) {
      machine.gpu_bytes_per_s = bandwidth(node, "gpu_to_gpu_bw", property(node, "gpu_to_gpu_bw"));
    }
  }
  std::string_view targets = property(node, "pfs_targets");
  while (!targets.empty()) {
    const std::size_t end = std::min(targets.find_first_of(",;"), targets.size());
    if (end > 0) group.targets.emplace_back(targets.substr(0, end));
    targets.remove_prefix(std::min(end + 1, targets.size()));
  }
  return group;
}

// Of a fat tree, "2;4,4;1,2;1,2": levels, and of each level links down, links up of what is below,
// and cables of each link. Has every switch as many cables up as down?
bool is_wide(std::string_view parameters) {
  std::vector<std::vector<std::uint32_t>> rows(1);
  for (std::string_view rest = parameters; !rest.empty();) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{}) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    rows.back().push_back(value);
    if (rest.starts_with(';')) rows.emplace_back();
    if (!rest.empty()) rest.remove_prefix(1);
  }
  if (rows.size() != 4 || rows[0].size() != 1) return false;
  const auto& down = rows[1];
  const auto& up = rows[2];
  const auto& cables = rows[3];
  const std::size_t levels = rows[0][0];
  if (down.size() != levels || up.size() != levels || cables.size() != levels) return false;
  for (std::size_t level = 1; level < levels; ++level) {
    const auto all = [&](std::uint32_t links, std::size_t at) {
      return std::uint64_t{links} * cables[at];
    };
    if (all(up[level], level) < all(down[level - 1], level - 1)) return false;
  }
  return true;
}

void SimgridReader::cluster(const Node& node, const std::string& zone) {
  if (only_serves(node, node.attribute("prefix").value())) return;
  Group group = compute_node(node, zone);
  group.count = count_of(node);
  group.routed = true;
  SimgridMachine& machine = group.machine;
  const std::string_view policy = node.attribute("sharing_policy").value();
  machine.link = {bandwidth(node, "bw", node.attribute("bw").value()),
                  latency(node, "lat", node.attribute("lat").value()), policy != "FATPIPE"};
  machine.both_ways = policy != "SHARED";
  if (const pugi::xml_attribute backbone = node.attribute("bb_bw")) {
    machine.backbone = {bandwidth(node, "bb_bw", backbone.value()),
                        latency(node, "bb_lat", node.attribute("bb_lat").value()),
                        std::string_view(node.attribute("bb_sharing_policy").value()) != "FATPIPE"};
  }
  if (const std::string_view topology = node.attribute("topology").value();
      !topology.empty() && topology != "FLAT") {
    // There the nodes' links do not lead out of the cluster.
    machine.files_use_link = false;
    if (topology == "FAT_TREE" && is_wide(node.attribute("topo_parameters").value())) {
      remark("a FAT_TREE is taken as one switch, for no level is narrower than the one below");
    } else {
      machine.unknown_network = topology;
    }
  }
  if (node.attribute("core").as_uint(1) > 1) {
    remark("hosts have several cores; a task takes one, as in ElastiSim");
  }
  groups_.push_back(std::move(group));
}

void SimgridReader::host(const Node& node, const std::string& zone) {
  const std::string id = node.attribute("id").value();
  if (only_serves(node, id)) return;
  if (property(node, "batch_system") == "true") {
    if (!batch_system_.empty()) fail(node, "batch_system", "is given twice", "give it once");
    batch_system_ = id.empty() ? "?" : id;
  } else if (property(node, "pfs_host") == "true") {
    file_hosts_.push_back(id);
  } else {
    groups_.push_back(compute_node(node, zone));
    remark("routes between single hosts are not read: what they send each other takes no time");
  }
}

void SimgridReader::link(const Node& node) { links_[node.attribute("id").value()] = path(node); }

void SimgridReader::route(const Node& node) {
  Route route{node.attribute("src").value(), node.attribute("dst").value(), {}};
  for (const Node& part : node.children("link_ctn")) {
    const auto found = links_.find(part.attribute("id").value());
    if (found == links_.end()) {
      fail(part, "link_ctn", fmt::format("there is no link '{}'", part.attribute("id").value()),
           "name a <link>");
    }
    // The narrowest decides, and whether it is shared.
    if (found->second.bytes_per_s < route.path.bytes_per_s) {
      route.path.bytes_per_s = found->second.bytes_per_s;
      route.path.shared = found->second.shared;
    }
    route.path.latency_s += found->second.latency_s;
  }
  routes_.push_back(route);
  std::string_view symmetrical = node.attribute("symmetrical").value();
  if (symmetrical != "NO" && symmetrical != "no") {
    std::swap(route.from, route.to);
    routes_.push_back(route);
  }
}

// The way between two places, each in zones in zones.
NetworkPath SimgridReader::between(const Group& group, const std::string& from,
                                   const std::string& to) {
  const auto parent = [&](const std::string& place) {
    const auto found = inside_.find(place);
    return found == inside_.end() ? std::string() : found->second;
  };
  std::string a = from;
  for (int up = 0; up <= kDeepestZones && !a.empty(); ++up, a = parent(a)) {
    std::string b = to;
    for (int over = 0; over <= kDeepestZones && !b.empty(); ++over, b = parent(b)) {
      const auto found = std::ranges::find_if(
          routes_, [&](const Route& route) { return route.from == a && route.to == b; });
      if (found != routes_.end()) return found->path;
    }
  }
  if (group.routed || !routes_.empty()) {
    remark(fmt::format("there is no direct route from {} to {}: only the node's link counts", from,
                       to));
  }
  return {};
}

SimgridMachine SimgridReader::whole() {
  if (groups_.empty()) {
    throw InputError({.file = file_}, "there are no compute nodes in it",
                     "give it a <cluster>, or a <host> without batch_system and pfs_host");
  }
  SimgridMachine machine = groups_.front().machine;
  double count = 0;
  for (const Group& group : groups_) {
    const SimgridMachine& other = group.machine;
    count += group.count;
    const auto less = [&](double& mine, double its, const char* what) {
      if (mine != its)
        remark(fmt::format("nodes differ in {}: all are taken as the slowest", what));
      mine = std::min(mine, its);
    };
    less(machine.flops_per_s, other.flops_per_s, "speed");
    less(machine.link.bytes_per_s, other.link.bytes_per_s, "their links");
    less(machine.backbone.bytes_per_s, other.backbone.bytes_per_s, "their backbone");
    less(machine.buffer_read_bytes_per_s, other.buffer_read_bytes_per_s, "burst buffers");
    less(machine.buffer_write_bytes_per_s, other.buffer_write_bytes_per_s, "burst buffers");
    less(machine.flops_per_gpu_s, other.flops_per_gpu_s, "GPUs");
    less(machine.gpu_bytes_per_s, other.gpu_bytes_per_s, "links of GPUs");
    machine.gpus = std::min(machine.gpus, other.gpus);
    if (machine.unknown_network.empty()) machine.unknown_network = other.unknown_network;
    machine.files_use_link = machine.files_use_link && other.files_use_link;
    machine.link.latency_s = std::max(machine.link.latency_s, other.link.latency_s);
  }
  if (count > kMostSimgridNodes) {
    throw InputError({.file = file_}, fmt::format("it has {} nodes", count),
                     fmt::format("use at most {}", kMostSimgridNodes));
  }
  machine.nodes = static_cast<Nodes>(count);

  const Group& first = groups_.front();
  for (const std::string& target : first.targets) {
    if (std::ranges::find(file_hosts_, target) == file_hosts_.end()) {
      throw InputError({.file = file_, .field = "pfs_targets"},
                       fmt::format("'{}' is no host with pfs_host", target), "name one");
    }
  }
  const std::vector<std::string>& hosts = first.targets.empty() ? file_hosts_ : first.targets;
  for (const std::string& name : hosts) {
    machine.file_system.push_back(
        {name, between(first, name, first.zone), between(first, first.zone, name)});
  }
  if (std::ranges::any_of(groups_,
                          [&](const Group& group) { return group.targets != first.targets; })) {
    remark("nodes differ in their pfs_targets: all are taken as the first");
  }
  return machine;
}

}  // namespace

SimgridMachine parse_simgrid(std::string_view text, const std::string& file,
                             std::vector<std::string>& remarks) {
  return SimgridReader(text, file, remarks).read();
}

}  // namespace ductile
