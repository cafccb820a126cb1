#include "report/choices.hpp"

#include <iterator>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

// A member's settings have commas in them.
std::string quoted(const std::string& text) {
  return text.find(',') == std::string::npos ? text : "\"" + text + "\"";
}

}  // namespace

void write_choices(const std::filesystem::path& path, const std::vector<ChoiceMade>& choices) {
  OutputFile file(path);
  std::string& text = file.text();
  text +=
      "time,occasion,goal,jobs,passes,member,turnaround,slowdown,longest_wait,score,ruled,rules\n";
  for (const ChoiceMade& made : choices) {
    const Choice& its = made.choice;
    for (std::uint32_t i = 0; i < its.members.size(); ++i) {
      const Choice::Member& member = its.members[i];
      append_seconds(text, made.at);
      fmt::format_to(std::back_inserter(text), ",{},{},{},{},{},{},{},{},{},{},{}\n",
                     kOccasionWords[static_cast<std::size_t>(its.occasion)],
                     kGoalWords[static_cast<std::size_t>(its.goal)], its.jobs, its.passes,
                     quoted(member.settings), member.outlook.turnaround_s, member.outlook.slowdown,
                     member.outlook.longest_wait_s, member.score, i == its.ruled ? 1 : 0,
                     i == its.chosen ? 1 : 0);
      file.appended();
    }
  }
  file.commit();
}

}  // namespace ductile
