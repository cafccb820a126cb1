#include "model/where.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

std::string partition_list(const Platform& platform) {
  std::vector<std::string> names;
  for (const Partition& each : platform.partitions) names.push_back(each.name);
  return listed(names);
}

/// The bits of the partitions that are named.
std::uint64_t named_partitions(std::string_view text, const Platform& platform, const AskedAs& as) {
  std::uint64_t bits = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view name = next_part(rest, ',');
    const auto at = std::ranges::find(platform.partitions, name, &Partition::name);
    if (at == platform.partitions.end()) {
      throw InputError(as.place(as.partitions), "there is no partition '" + printable(name) + "'",
                       platform.partitions.empty() ? "leave it away: there are no partitions"
                                                   : "use one of " + partition_list(platform));
    }
    bits |= std::uint64_t{1} << (at - platform.partitions.begin());
  }
  return bits;
}

/// Those of them that allow such a job.
std::uint64_t that_allow(const Applicant& who, std::uint64_t partitions, const Platform& platform,
                         const AskedAs& as) {
  std::uint64_t bits = 0;
  Duration longest{};
  Nodes largest = 0;
  bool is_for_user = false;  // any
  for (std::size_t i = 0; i < platform.partitions.size(); ++i) {
    if ((partitions >> i & 1) == 0) continue;
    const Partition& its = platform.partitions[i];
    if (allows(its, who)) bits |= std::uint64_t{1} << i;
    if (!allows(its, {.user = who.user})) continue;
    is_for_user = true;
    const bool any_time = its.max_walltime == Duration{}, any_size = its.max_nodes == 0;
    longest = any_time ? Duration::max() : std::max(longest, its.max_walltime);
    largest = any_size ? ~Nodes{0} : std::max(largest, its.max_nodes);
  }
  if (bits != 0 || partitions == 0) return bits;
  const std::string names = partition_names(partitions, platform);
  if (!is_for_user) {
    throw InputError(as.place(as.partitions),
                     names + " is not for user " + std::to_string(who.user.value_or(0)),
                     "ask for another partition");
  }
  if (who.nodes > largest) {
    throw InputError(as.place(as.nodes),
                     std::to_string(who.nodes) + " nodes are more than the " +
                         std::to_string(largest) + " that a job may have in " + names,
                     "ask for fewer, or for another partition");
  }
  if (who.walltime > longest) {
    throw InputError(as.place(as.walltime),
                     seconds_text(who.walltime) + " s are more than the " + seconds_text(longest) +
                         " s that are allowed in " + names,
                     "ask for less, or for another partition");
  }
  throw InputError(as.place(as.partitions),
                   "none of " + names + " allows so many nodes for so long",
                   "ask for less, or for another partition");
}

/// The classes that have all of these features, as nodes; all nodes if none is asked for.
NodeSet nodes_with_features(std::string_view asked, const Platform& platform, const AskedAs& as) {
  const Place place = as.place(as.features);
  NodeSet nodes = nodes_with({}, platform);
  for (std::string_view rest = asked; !rest.empty();) {
    const std::string_view feature = next_part(rest, ',');
    NodeSet its;
    for (const NodeClass& each : platform.classes) {
      if (std::ranges::find(each.features, feature) != each.features.end()) its.insert(each.nodes);
    }
    if (its.empty()) {
      throw InputError(place, "no node has the feature '" + printable(feature) + "'",
                       "name features of classes, with ',' between them");
    }
    nodes = intersection(nodes, its);
  }
  if (nodes.empty()) {
    throw InputError(place, "no node has all of " + printable(asked), "ask for fewer features");
  }
  return nodes;
}

/// In 65,535ths of the highest one, which is no more than that: so two are never the same.
std::uint16_t qos_of(std::string_view name, const Platform& platform, const AskedAs& as) {
  if (name.empty()) return 0;
  const auto at = std::ranges::find(platform.qos, name, &Qos::name);
  if (at == platform.qos.end()) {
    std::vector<std::string> names;
    for (const Qos& each : platform.qos) names.push_back(each.name);
    throw InputError(
        as.place(as.qos), "there is no QOS '" + printable(name) + "'",
        names.empty() ? "leave it away: there are none" : "use one of " + listed(names));
  }
  constexpr std::uint64_t kWhole = 65'535;
  std::uint64_t highest = 1;
  for (const Qos& each : platform.qos) highest = std::max<std::uint64_t>(highest, each.priority);
  return static_cast<std::uint16_t>(kWhole * at->priority / highest);
}

/// As much as the next class has that has so much; 0 if all have it; nothing if none has.
template <class Number, class Has>
std::optional<Number> as_next_class_has(Number asked, const Platform& platform, const Has& has) {
  if (asked == 0) return asked;
  std::optional<Number> next;
  bool all = true;
  for (const NodeClass& each : platform.classes) {
    const auto number = static_cast<Number>(has(each.has));
    if (number < asked) {
      all = false;
    } else {
      next = std::min(next.value_or(number), number);
    }
  }
  return all && next ? Number{0} : next;
}

template <class Has>
auto most_of(const Platform& platform, const Has& has) {
  std::uint64_t most = 0;
  for (const NodeClass& each : platform.classes)
    most = std::max<std::uint64_t>(most, has(each.has));
  return std::to_string(most);
}

Slice each_of(const AskedWhere& asked, const Platform& platform, const AskedAs& as,
              NodesAre nodes_are) {
  Slice each;
  const auto cores = [](const Slice& has) { return has.cores; };
  const auto memory = [](const Slice& has) { return has.memory_mb; };
  const bool knows_memory =
      std::ranges::any_of(platform.classes, [](const NodeClass& c) { return c.has.memory_mb > 0; });
  if (!platform.classes.empty()) {
    const auto found = as_next_class_has<std::uint64_t>(asked.cores, platform, cores);
    if (!found) {
      throw InputError(as.place(as.cores),
                       std::to_string(asked.cores) + " cores are more than the " +
                           most_of(platform, cores) + " of a node",
                       "ask for fewer");
    }
    each.cores = static_cast<std::uint16_t>(*found);
  }
  if (knows_memory) {
    const auto found = as_next_class_has<std::uint64_t>(asked.memory_mb, platform, memory);
    if (!found) {
      throw InputError(as.place(as.memory),
                       std::to_string(asked.memory_mb) + " MB are more than the " +
                           most_of(platform, memory) + " of a node",
                       "ask for less");
    }
    const bool is_shared = nodes_are == NodesAre::shared;
    each.memory_mb = static_cast<std::uint32_t>(is_shared ? asked.memory_mb : *found);
  }
  for (const auto& [name, count] : parse_things(asked.things, as.place(as.things))) {
    const auto at = std::ranges::find(platform.things, name);
    if (at == platform.things.end()) {
      throw InputError(as.place(as.things), "no node has a '" + printable(name) + "'",
                       platform.things.empty() ? "leave it away: nodes have nothing of the kind"
                                               : "use one of " + listed(platform.things));
    }
    const auto place = static_cast<std::size_t>(at - platform.things.begin());
    const auto things = [place](const Slice& has) { return has.things.at(place); };
    const auto found = as_next_class_has<std::uint16_t>(count, platform, things);
    if (!found) {
      throw InputError(as.place(as.things),
                       std::to_string(count) + " of '" + name + "' are more than the " +
                           most_of(platform, things) + " of a node",
                       "ask for fewer");
    }
    each.things.at(place) = nodes_are == NodesAre::shared ? count : *found;
  }
  return each;
}

/// What is asked of each node.
std::string asked_text(const AskedWhere& asked) {
  std::vector<std::string> words;
  if (asked.cores > 0) words.push_back(std::to_string(asked.cores) + " cores");
  if (asked.memory_mb > 0) words.push_back(std::to_string(asked.memory_mb) + " MB");
  if (!asked.things.empty()) words.push_back(asked.things);
  return listed(words);
}

NodeSet named_nodes(const std::string& text, const Place& place, const Platform& platform) {
  NodeSet nodes = parse_named_nodes(text, place);
  if (!nodes.empty() && nodes.parts.back().last >= platform.nodes) {
    throw InputError(place, "there is no node " + std::to_string(nodes.parts.back().last),
                     "there are 0 to " + std::to_string(platform.nodes - 1));
  }
  return nodes;
}

}  // namespace

std::vector<std::pair<std::string, std::uint16_t>> parse_things(std::string_view text,
                                                                const Place& place) {
  std::vector<std::pair<std::string, std::uint16_t>> things;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = next_part(rest, ',');
    std::string_view number = part;
    const std::string_view name = next_part(number, ':');
    const bool has_number = name.size() < part.size();
    const auto count = has_number ? parse_number<std::uint16_t>(number) : std::uint16_t{1};
    const bool is_new =
        std::ranges::find(things, name, &decltype(things)::value_type::first) == things.end();
    if (name.empty() || !count || *count == 0 || !is_new) {
      throw InputError(place,
                       "'" + printable(part) + "' says " +
                           (is_new ? "nothing of what a node has" : "the same thing again"),
                       "write it like gpu:2, each thing once");
    }
    things.emplace_back(name, *count);
  }
  return things;
}

NodeSet parse_named_nodes(std::string_view text, const Place& place) {
  const std::optional<NodeSet> nodes = parse_node_set(text);
  if (nodes) return *nodes;
  throw InputError(place, "'" + printable(text) + "' are no nodes",
                   "write their numbers like 0-3,7");
}

bool allows(const Partition& partition, const Applicant& who) {
  const bool is_for_user = partition.users.empty() || !who.user ||
                           std::ranges::binary_search(partition.users, *who.user);
  return is_for_user &&
         (partition.max_walltime == Duration{} || who.walltime <= partition.max_walltime) &&
         (partition.max_nodes == 0 || who.nodes <= partition.max_nodes);
}

namespace {

/// The same with the memory of all cores that it has of a node: those that it asks for, or those of
/// the node with the fewest where it may run.
AskedWhere by_node(AskedWhere asked, const Applicant& who, const Platform& platform,
                   const AskedAs& as) {
  if (asked.memory_mb != 0) {
    throw InputError(as.place(as.memory_per_core), "memory is asked for by the node already",
                     std::string("leave ") + as.memory + " away");
  }
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // more than any node has
  const std::uint64_t each = std::min(std::exchange(asked.memory_per_core_mb, 0), kMost);
  const auto fewest = [&] {
    return fewest_cores(nodes_of(where_of(asked, who, platform, as), platform), platform);
  };
  asked.memory_mb = each * (asked.cores != 0 ? asked.cores : fewest());
  return asked;
}

}  // namespace

Where where_of(const AskedWhere& asked, const Applicant& who, const Platform& platform,
               const AskedAs& as, NodesAre nodes_are) {
  if (asked.memory_per_core_mb != 0) {
    return where_of(by_node(asked, who, platform, as), who, platform, as, nodes_are);
  }
  Where where;
  where.partitions = named_partitions(asked.partitions, platform, as);
  // Who names none asks for the first one.
  if (where.partitions == 0 && !platform.partitions.empty()) where.partitions = 1;
  where.partitions = that_allow(who, where.partitions, platform, as);
  if (where.partitions == 1) where.partitions = 0;
  where.each = each_of(asked, platform, as, nodes_are);
  where.only = named_nodes(asked.only, as.place(as.only), platform);
  where.never = named_nodes(asked.never, as.place(as.never), platform);
  where.qos = qos_of(asked.qos, platform, as);
  if (!asked.features.empty()) {
    const NodeSet with = nodes_with_features(asked.features, platform, as);
    const NodeSet named = where.only.empty() ? nodes_with({}, platform) : where.only;
    where.only = intersection(named, with);
    if (where.only.empty()) {
      throw InputError(as.place(as.features), "none of these nodes has " + asked.features,
                       "name others");
    }
  }
  if (!where.only.empty()) {
    where.only.erase(where.never);
    where.never = {};
    if (where.only.empty()) {
      throw InputError(as.place(as.never),
                       std::string("none of the nodes of ") + as.only + " is left",
                       "exclude fewer");
    }
  }
  // The nodes of one partition, all of which have something, need not be looked for again.
  Where anywhere = where;
  anywhere.each = {};
  anywhere.only = anywhere.never = {};
  const NodeSet there = nodes_of(anywhere, platform);
  if (there.empty()) {
    throw InputError(as.place(as.partitions),
                     partition_names(where.partitions, platform) + " has no nodes",
                     "ask for another one");
  }
  if (nodes_of(where, platform).empty()) {
    const std::string in = platform.partitions.empty()
                               ? std::string()
                               : " of " + partition_names(where.partitions, platform);
    if (!there.intersects(nodes_with(where.each, platform))) {
      throw InputError(as.place(),
                       "no node" + in + " has all that is asked of each: " + asked_text(asked),
                       "ask for less, or for another partition");
    }
    throw InputError(as.place(where.only.empty() ? as.never : as.only),
                     "no node" + in + " is left that has what is asked", "name other nodes");
  }
  if (nodes_are == NodesAre::whole && platform.classes.size() > 1 &&
      nodes_with(where.each, platform).contains(there)) {
    where.each = {};
  }
  if (where.only.contains(there)) where.only = {};
  where.never = intersection(where.never, there);
  return where;
}

NodeSet nodes_with(const Slice& each, const Platform& platform) {
  NodeSet nodes;
  if (platform.classes.empty()) {
    if (platform.nodes > 0) nodes.insert(0, platform.nodes - 1);
    return nodes;
  }
  for (const NodeClass& its : platform.classes) {
    if (its.has.covers(each)) nodes.insert(its.nodes);
  }
  return nodes;
}

NodeSet nodes_of(const Where& where, const Platform& platform) {
  NodeSet nodes = nodes_with(where.each, platform);
  if (!platform.partitions.empty()) {
    NodeSet theirs;
    for (std::size_t i = 0; i < platform.partitions.size(); ++i) {
      const std::uint64_t asked = where.partitions == 0 ? 1 : where.partitions;
      if ((asked >> i & 1) != 0) theirs.insert(platform.partitions[i].nodes);
    }
    nodes = intersection(nodes, theirs);
  }
  if (!where.only.empty()) nodes = intersection(nodes, where.only);
  nodes.erase(where.never);
  return nodes;
}

std::uint32_t fewest_cores(const NodeSet& nodes, const Platform& platform) {
  std::optional<std::uint32_t> fewest;
  for (const NodeClass& each : platform.classes) {
    if (!each.nodes.intersects(nodes)) continue;
    fewest = std::min<std::uint32_t>(fewest.value_or(each.has.cores), each.has.cores);
  }
  return fewest.value_or(platform.cores_per_node);
}

std::string partition_names(std::uint64_t partitions, const Platform& platform) {
  std::string names;
  const std::uint64_t asked = partitions == 0 ? 1 : partitions;
  for (std::size_t i = 0; i < platform.partitions.size(); ++i) {
    if ((asked >> i & 1) == 0) continue;
    names.append(names.empty() ? "" : ",").append(platform.partitions[i].name);
  }
  return names;
}

std::string things_text(const Slice& each, const Platform& platform) {
  std::string text;
  for (std::size_t i = 0; i < platform.things.size(); ++i) {
    if (each.things.at(i) == 0) continue;
    text.append(text.empty() ? "" : ",").append(platform.things[i]).append(":");
    append_number(text, each.things.at(i));
  }
  return text;
}

Platform continued(const Platform& before, Platform next) {
  const auto name_of_first = [](const Platform& platform) {
    return platform.partitions.empty() ? std::string() : platform.partitions.front().name;
  };
  if (!before.partitions.empty() && name_of_first(before) != name_of_first(next)) {
    throw InputError(
        {.field = "partition"},
        "the first one was '" + name_of_first(before) + "', in which are the jobs that name none",
        "keep it the first; it may have other nodes");
  }
  std::vector<Partition> partitions;
  for (const Partition& was : before.partitions) {
    const auto at = std::ranges::find(next.partitions, was.name, &Partition::name);
    partitions.push_back(at != next.partitions.end() ? *at : Partition{.name = was.name});
  }
  for (const Partition& is : next.partitions) {
    const bool is_new =
        std::ranges::find(before.partitions, is.name, &Partition::name) == before.partitions.end();
    if (is_new) partitions.push_back(is);
  }
  if (partitions.size() > kMostPartitions) {
    throw InputError(
        {.field = "partition"},
        "with those that are gone there are more than " + std::to_string(kMostPartitions),
        "keep their names");
  }
  std::vector<std::string> things = before.things;
  for (const std::string& thing : next.things) {
    if (std::ranges::find(things, thing) == things.end()) things.push_back(thing);
  }
  if (things.size() > Slice::kThings) {
    throw InputError({.field = "gres"},
                     "with those that are gone there are more than " +
                         std::to_string(Slice::kThings) + " things",
                     "keep their names");
  }
  for (NodeClass& each : next.classes) {
    Slice has = each.has;
    has.things = {};
    for (std::size_t i = 0; i < next.things.size(); ++i) {
      const auto at = std::ranges::find(things, next.things[i]) - things.begin();
      has.things.at(static_cast<std::size_t>(at)) = each.has.things.at(i);
    }
    each.has = has;
  }
  if (!next.classes.empty()) {
    NodeSet gone;
    if (next.nodes < before.nodes) gone.insert(next.nodes, before.nodes - 1);
    for (NodeClass& each : next.classes) {
      const auto was = std::ranges::find(before.classes, each.name, &NodeClass::name);
      if (was == before.classes.end()) continue;
      const NodeSet its = intersection(was->nodes, gone);
      each.nodes.insert(its);
      gone.erase(its);
    }
    next.classes.front().nodes.insert(gone);
  }
  next.nodes = std::max(next.nodes, before.nodes);
  next.partitions = std::move(partitions);
  next.things = std::move(things);
  return next;
}

}  // namespace ductile
