#include "support/log.hpp"

#include "scheduling/record.hpp"
#include "simulation/recording.hpp"

namespace ductile::testing {

std::string log_lines(const HostileWorld& world) {
  const State& state = world.first().state();
  std::string text = std::string(kFirstLogLine) + '\n';
  const auto line = [&](const char* head, const std::string& record) {
    text.append(head).append(" ").append(record).append("\n");
  };
  line("platform", to_record(state.platform));
  line("world", to_record(state.capabilities));
  line("rules", to_record(state.rules));
  line("policy", to_record(state.traits));
  for (const Record& record : world.journal()) {
    const std::string time = to_record(record.time);
    if (record.event) {
      line("E", time + (record.accepted ? " 1 " : " 0 ") + to_record(*record.event));
      continue;
    }
    line("C", to_record(Closed{record.time, record.asked}));
    for (const PenCall& call : record.calls) line("P", to_record(call));
    for (const Decision& decision : record.decisions) line("D", to_record(decision));
  }
  return text;
}

}  // namespace ductile::testing
