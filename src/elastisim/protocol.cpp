#include "elastisim/protocol.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "workload/json.hpp"

namespace ductile {
namespace {

constexpr std::uint64_t kAsks = 0xFFEC4400, kAnswers = 0xFFEC4401, kEnds = 0xFFEC44FF;
constexpr double kMostGpus = 1e9;

std::uint32_t number_below(const JsonAt& at, std::uint32_t end, std::string_view what) {
  const auto& value = at.value();
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= end) {
    at.fail(fmt::format("is no {}", what),
            end == 0 ? "there is none" : fmt::format("they have the numbers 0 to {}", end - 1));
  }
  return static_cast<std::uint32_t>(value.get<std::uint64_t>());
}

ElastisimOrder order_at(const JsonAt& at, std::uint32_t jobs, Nodes nodes) {
  ElastisimOrder order;
  order.job = number_below(at.at("id"), jobs, "job that was submitted");
  order.kill = at.boolean("kill_flag", false);
  if (order.kill) return order;
  if (at.boolean("modified_runtime_args", false)) {
    at.at("modified_runtime_args")
        .fail("runtime arguments cannot be changed: times are worked out before the run",
              "give the job arguments in the file of jobs");
  }
  if (at.has("assigned_num_gpus_per_node")) {
    order.gpus =
        static_cast<std::uint32_t>(at.at("assigned_num_gpus_per_node").whole(0, kMostGpus));
  }
  const JsonAt ids = at.at("assigned_node_ids");
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    order.nodes.push_back(number_below(ids.item(i), nodes, "node of the machine"));
    if (seen.insert(order.nodes.back()).second) continue;
    ids.item(i).fail(fmt::format("names node {} a second time", order.nodes.back()),
                     "name each node once");
  }
  return order;
}

}  // namespace

std::vector<ElastisimOrder> parse_elastisim_reply(std::string_view text, const std::string& from,
                                                  std::uint32_t jobs, Nodes nodes) {
  const nlohmann::json json = parse_json(text, from);
  const JsonAt top(json, from);
  const JsonAt code = top.at("code");
  if (!code.value().is_number_unsigned() || code.value().get<std::uint64_t>() != kAnswers) {
    code.fail("is not that of an answer", fmt::format("write {}", kAnswers));
  }
  const JsonAt list = top.at("jobs");
  std::vector<ElastisimOrder> orders;
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    orders.push_back(order_at(list.item(i), jobs, nodes));
    if (seen.insert(orders.back().job).second) continue;
    list.item(i).fail(fmt::format("names job {} a second time", orders.back().job),
                      "name each job once");
  }
  return orders;
}

std::string elastisim_farewell() { return fmt::format(R"({{"code":{}}})", kEnds); }

std::string elastisim_question(std::string_view time_s, ElastisimCall call) {
  return fmt::format(R"({{"code":{},"time":{},"invocation_type":{})", kAsks, time_s,
                     static_cast<int>(call));
}

}  // namespace ductile
