// Any bytes, read as a platform: one that is sound, each node of one class, or an InputError; and
// any words of where a job may run there, which are some of its nodes, or an InputError.
//
// The first line of an input is what is asked: partitions, megabytes, cores, things, nodes, nodes
// that are excluded and seconds, with a ';' between them. Behind the line follows the file.
//
// Readers: src/workload/platform_file.cpp src/model/where.cpp src/base/quantity.cpp
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/switch_tree.hpp"
#include "model/where.hpp"
#include "workload/platform_file.hpp"

namespace ductile {
namespace {

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

void check(const Platform& platform) {
  require(platform.nodes > 0 && !platform.classes.empty());
  NodeSet all, seen;
  all.insert(0, platform.nodes - 1);
  for (const NodeClass& its : platform.classes) {
    require(!its.nodes.empty() && !seen.intersects(its.nodes) && !its.name.empty());
    require(its.has.cores > 0 && its.sockets > 0 && its.sockets <= its.has.cores);
    require(its.speed > 0 && its.busy_w >= its.idle_w && its.boot_time >= Duration{});
    seen.insert(its.nodes);
  }
  require(seen == all);
  require(platform.partitions.size() <= 32 && platform.things.size() <= Slice::kThings);
  for (const Partition& its : platform.partitions) {
    require(!its.name.empty() && !its.nodes.empty() && all.contains(its.nodes));
  }
  require(is_tree(platform.switches, platform.nodes));
  const SwitchTree tree(platform);
  require(tree.mean_hops(all) >= 0 && tree.lowest_above(all) < tree.size());
  require(continued(platform, platform) == platform);
}

std::string text_of(std::string_view& rest) { return std::string(next_part(rest, ';')); }

template <class Number>
Number number_of(std::string_view& rest) {
  return parse_number<Number>(next_part(rest, ';')).value_or(0);
}

// Node by node, as it is meant.
void check(const Where& where, const AskedWhere& asked, const Applicant& who,
           const Platform& platform) {
  const NodeSet nodes = nodes_of(where, platform);
  require(!nodes.empty());
  const auto things = parse_things(asked.things, {});
  const NodeSet only = *parse_node_set(asked.only), never = *parse_node_set(asked.never);
  const bool knows_memory = nodes_with({.memory_mb = 1}, platform).count() > 0;
  for (std::uint32_t node = 0; node < std::min(platform.nodes, Nodes{64}); ++node) {
    bool may = (only.empty() || only.contains(node)) && !never.contains(node);
    for (const NodeClass& its : platform.classes) {
      if (!its.nodes.contains(node)) continue;
      may = may && its.has.cores >= asked.cores;
      for (std::string_view rest = asked.features; !rest.empty();) {
        const std::string_view feature = next_part(rest, ',');
        may = may && std::ranges::find(its.features, feature) != its.features.end();
      }
      may = may && (!knows_memory || its.has.memory_mb >= asked.memory_mb);
      for (const auto& [name, count] : things) {
        for (std::size_t i = 0; i < platform.things.size(); ++i) {
          if (platform.things[i] == name) may = may && its.has.things.at(i) >= count;
        }
      }
    }
    bool is_in_one = platform.partitions.empty();
    const std::string& first = platform.partitions.empty() ? "" : platform.partitions[0].name;
    for (const Partition& its : platform.partitions) {
      const std::string names = "," + (asked.partitions.empty() ? first : asked.partitions) + ",";
      is_in_one =
          is_in_one ||
          (names.find("," + its.name + ",") != std::string::npos && its.nodes.contains(node) &&
           (its.max_walltime == Duration{} || who.walltime <= its.max_walltime) &&
           (its.max_nodes == 0 || who.nodes <= its.max_nodes) &&
           (its.users.empty() || std::ranges::find(its.users, *who.user) != its.users.end()));
    }
    require(nodes.contains(node) == (may && is_in_one));
  }
  if (!asked.qos.empty()) {
    const auto its = std::ranges::find(platform.qos, asked.qos, &Qos::name);
    require(its != platform.qos.end() && (its->priority > 0 || where.qos == 0));
  }
}

}  // namespace
}  // namespace ductile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ductile;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string_view words = next_part(bytes, '\n');
  Platform platform;
  try {
    platform = parse_platform_file(bytes, "fuzz").platform;
  } catch (const InputError&) {
    return 0;
  }
  check(platform);
  AskedWhere asked;
  asked.partitions = text_of(words);
  asked.memory_mb = number_of<std::uint32_t>(words);
  asked.cores = number_of<std::uint16_t>(words);
  asked.things = text_of(words);
  asked.only = text_of(words);
  asked.never = text_of(words);
  Applicant who{.walltime = whole_seconds(number_of<std::uint32_t>(words))};
  asked.features = text_of(words);
  asked.qos = text_of(words);
  who.nodes = number_of<Nodes>(words);
  who.user = number_of<std::uint32_t>(words);
  try {
    const Where where = where_of(asked, who, platform);
    check(where, asked, who, platform);
  } catch (const InputError&) {
  }
  return 0;
}
