#include "cli/sharing_options.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {

void add_sharing_options(CLI::App& command, SimulationSettings& settings) {
  constexpr std::uint32_t kMost = 1u << 16;
  command
      .add_option("--sockets-per-node", settings.platform.sockets_per_node,
                  "guests are given whole sockets, where their policy may take so much")
      ->check(CLI::Range(1U, kMost))
      ->capture_default_str();
  command
      .add_option("--ranks-per-node", settings.ranks_per_node,
                  "processes of a job on each node: it keeps a core for each when it shares nodes")
      ->check(CLI::Range(1U, kMost - 1))
      ->capture_default_str();
  const auto add_model = [&](const char* name, ShareModel& model, const char* text) {
    command
        .add_option_function<std::string>(
            name,
            [&model](const std::string& word) {
              model = *from_word<ShareModel>(kShareModelWords, word);
            },
            text)
        ->check(CLI::IsMember(
            std::vector<std::string>(kShareModelWords.begin(), kShareModelWords.end())));
  };
  add_model("--share-model", settings.share,
            "a job that shares nodes is as fast as on the node of which it has the least (worst), "
            "or as all of its cores together [ideal]");
  add_model("--believed-share-model", settings.rules.share, "what is believed of that [worst]");
  const auto add_contention = [&](const char* name, Contention& contention, const char* text) {
    command
        .add_option_function<std::string>(
            name,
            [name, &contention](const std::string& word) {
              contention = parse_contention(word, {.field = name});
            },
            text)
        ->type_name("off|NUMBER|pairs");
  };
  add_contention("--contention", settings.contention,
                 "how much of its work per core a job still does on a node that it shares: all, "
                 "this share of it, or by what both are bound by [off]");
  add_contention("--believed-contention", settings.rules.contention,
                 "what is believed of that [off]");
  command
      .add_option_function<std::string>(
          "--share-cores",
          [&settings](const std::string& word) { settings.counts_cores = word == "requested"; },
          "how many cores of a node a job can use: as many as it asked for, or all [requested]")
      ->check(CLI::IsMember({"requested", "node"}));
}

void check_sharing(const SimulationSettings& settings, bool shares) {
  const Platform& machine = settings.platform;
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  if (shares && machine.classes.empty() && machine.cores_per_node > kMost) {
    throw InputError({.field = "--cores-per-node"},
                     fmt::format("nodes that jobs share have {} cores at most, not {}", kMost,
                                 machine.cores_per_node),
                     "give fewer, or another policy");
  }
  if (!machine.classes.empty() || machine.cores_per_node % machine.sockets_per_node == 0) return;
  throw InputError({.field = "--sockets-per-node"},
                   fmt::format("{} sockets do not divide the {} cores of a node",
                               machine.sockets_per_node, machine.cores_per_node),
                   "give a divisor of them, and --cores-per-node");
}

}  // namespace ductile
