#include "live/node_health.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "live/json_text.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

NodeSet nodes_in(const Json& json, const char* field) {
  const auto nodes = parse_node_set(json.value(field, std::string()));
  if (!nodes) {
    throw InputError({.field = field}, "these are no nodes", "go on with a copy of the journal");
  }
  return *nodes;
}

std::string stored_text(const Json& json, const char* field) {
  const auto text = bytes_from_json(json.value(field, Json("")));
  if (!text) {
    throw InputError({.field = field}, "this is no text", "go on with a copy of the journal");
  }
  return *text;
}

}  // namespace

NodeHealth::NodeHealth(const std::vector<Health>& health) {
  for (std::uint32_t node = 0; node < health.size(); ++node) {
    if (health[node] == Health::up) continue;
    NodeSet one;
    one.insert(node, node);
    operators_.set(one, health[node]);
  }
}

NodeHealth NodeHealth::from_text(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    throw InputError("the health of nodes is not as it was written",
                     "go on with a copy of the journal");
  }
  NodeHealth health;
  const auto read = [](const Json& from, Said& said) {
    said = {nodes_in(from, "draining"), nodes_in(from, "down"), nodes_in(from, "off")};
  };
  read(json.value("operators", Json::object()), health.operators_);
  read(json.value("world", Json::object()), health.world_);
  health.gone_ = nodes_in(json, "gone");
  for (const Json& each : json.value("strangers", Json::array())) {
    health.strangers_.push_back({.name = stored_text(each, "name"),
                                 .nodes = nodes_in(each, "nodes"),
                                 .what = stored_text(each, "what"),
                                 .number = each.value("number", std::uint64_t{0})});
  }
  return health;
}

std::string NodeHealth::text() const {
  const auto written = [](const Said& said) {
    Json json = Json::object();
    const auto add = [&](const char* name, const NodeSet& nodes) {
      if (!nodes.empty()) json[name] = to_string(nodes);
    };
    add("draining", said.draining);
    add("down", said.down);
    add("off", said.off);
    return json;
  };
  Json strangers = Json::array();
  for (const Stranger& each : strangers_) {
    // A world may say any bytes.
    strangers.push_back({{"name", bytes_to_json(each.name)},
                         {"nodes", to_string(each.nodes)},
                         {"what", bytes_to_json(each.what)},
                         {"number", each.number}});
  }
  Json json = {{"operators", written(operators_)}, {"world", written(world_)}};
  if (!gone_.empty()) json["gone"] = to_string(gone_);
  json["strangers"] = strangers;
  return json.dump();
}

void NodeHealth::Said::set(const NodeSet& nodes, Health health) {
  for (auto [set, its] :
       {std::pair{&draining, Health::draining}, {&down, Health::down}, {&off, Health::off}}) {
    if (health == its) {
      set->insert(nodes);
    } else {
      set->erase(nodes);
    }
  }
}

Health NodeHealth::Said::of(std::uint32_t node) const {
  if (down.contains(node)) return Health::down;
  if (off.contains(node)) return Health::off;
  return draining.contains(node) ? Health::draining : Health::up;
}

NodeSet NodeHealth::set_gone(const NodeSet& nodes) {
  const NodeSet before = std::exchange(gone_, nodes);
  return united(difference(before, nodes), difference(nodes, before));
}

NodeSet NodeHealth::set(const Stranger& stranger) {
  NodeSet concerned = stranger.nodes;
  const auto known = std::ranges::find(strangers_, stranger.name, &Stranger::name);
  if (known != strangers_.end()) {
    concerned.insert(known->nodes);
    if (stranger.is_there) {
      *known = stranger;
    } else {
      strangers_.erase(known);
    }
  } else if (stranger.is_there) {
    strangers_.push_back(stranger);
  }
  return concerned;
}

Health NodeHealth::of(std::uint32_t node) const {
  if (stranger_on(node) != nullptr || gone_.contains(node)) return Health::down;
  const Health one = operators_.of(node), other = world_.of(node);
  for (const Health worse : {Health::down, Health::off, Health::draining}) {
    if (one == worse || other == worse) return worse;
  }
  return Health::up;
}

const Stranger* NodeHealth::stranger_on(std::uint32_t node) const {
  const auto found = std::ranges::find_if(
      strangers_, [&](const Stranger& each) { return each.nodes.contains(node); });
  return found == strangers_.end() ? nullptr : &*found;
}

}  // namespace ductile
