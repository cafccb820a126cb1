#include "job/order.hpp"

#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/json_line.hpp"
#include "job/protocol.hpp"

namespace ductile {
namespace {

std::optional<std::vector<Host>> hosts_in(const nlohmann::json& text) {
  if (!text.is_string()) return std::nullopt;
  try {
    return parse_hosts(std::string(text));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

std::variant<Order, BadOrder> parse_order(std::string_view line) {
  using Json = nlohmann::json;
  const Json json = parse_json_line(line);
  if (!json.is_object() || !json.contains("do") || !json["do"].is_string()) {
    return BadOrder{.why = "an order is a JSON object with \"do\""};
  }
  Order order{.id = json.value("id", Json())};
  const auto bad = [&](std::string why) { return BadOrder{std::move(why), order.id}; };
  const auto verb = from_word<Order::Verb>(kOrderWords, std::string(json["do"]));
  if (!verb) {
    return bad(
        "there are the orders \"status\", \"watch\", \"resize\", \"answer\", \"stop\", "
        "\"step\", \"withdraw\", \"suspend\" and \"nodes\"");
  }
  order.verb = *verb;
  if (*verb == Order::Verb::nodes) {
    const Json text = json.value("nodes", Json());
    const auto nodes = text.is_string() ? parse_node_set(std::string(text)) : std::nullopt;
    if (!nodes || nodes->empty()) return bad("\"nodes\" are nodes, like \"0-3,7\"");
    order.nodes = *nodes;
    return order;
  }
  if (*verb != Order::Verb::resize && *verb != Order::Verb::answer) return order;
  const Json size = json.value("size", Json());
  if (!size.is_number_unsigned() || size.get<std::uint64_t>() > wire::kMaxProcesses) {
    return bad("\"size\" is a number of processes, in an answer 0 to deny");
  }
  order.size = size;
  const Json cpus_text = json.value("cpus", Json(""));
  const auto cpus = cpus_text.is_string() ? parse_node_set(std::string(cpus_text)) : std::nullopt;
  if (!cpus) return bad("\"cpus\" are processors, like \"0-3,7\"");
  order.cpus = *cpus;
  const auto hosts = hosts_in(json.value("hosts", Json("")));
  if (!hosts) {
    return bad("\"hosts\" are hosts and how many processes each takes, like \"h1:4,h2:4\"");
  }
  order.hosts = *hosts;
  const Json moves = json.value("move", Json(false));
  if (!moves.is_boolean()) return bad("\"move\" is true or false");
  order.moves = moves;
  return order;
}

}  // namespace ductile
