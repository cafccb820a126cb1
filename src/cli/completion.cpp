#include "cli/completion.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ductile {
namespace {

/// A command as shells see it: "workload info", what it takes, and the commands below it.
struct Command {
  std::string path;
  std::vector<std::string> words;
};

void gather(const CLI::App& app, const std::string& path, std::vector<Command>& commands) {
  Command& own = commands.emplace_back(Command{path, {}});
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) own.words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) own.words.push_back("-" + name);
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : below) own.words.push_back(command->get_name());
  for (const CLI::App* command : below) {
    gather(*command, path.empty() ? command->get_name() : path + " " + command->get_name(),
           commands);
  }
}

std::string names_of(const std::vector<PolicyInfo>& policies) {
  std::vector<std::string_view> names;
  for (const PolicyInfo& policy : policies) names.push_back(policy.name);
  return fmt::format("{}", fmt::join(names, " "));
}

/// The words of the command that stands before the cursor; the longest path that is one.
std::string bash(const std::vector<Command>& commands, const std::string& policies) {
  std::string cases;
  for (const Command& command : commands) {
    cases +=
        fmt::format("    \"{}\") words=\"{}\" ;;\n", command.path, fmt::join(command.words, " "));
  }
  return fmt::format(R"(_ductile() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} path= words= word
  case $previous in
    --policy) COMPREPLY=($(compgen -W "{}" -- "$current")); return ;;
    --*) case $current in -*) ;; *) COMPREPLY=($(compgen -f -- "$current")) ;; esac ;;
  esac
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in -*) ;; *) _ductile_words "$path${{path:+ }}$word" && path=$path${{path:+ }}$word ;; esac
  done
  _ductile_words "$path"
  COMPREPLY+=($(compgen -W "$words" -- "$current"))
}}
_ductile_words() {{
  case $1 in
{}    *) return 1 ;;
  esac
}}
complete -o default -F _ductile ductile
)",
                     policies, cases);
}

std::string fish(const CLI::App& app, const std::vector<Command>& commands,
                 const std::string& policies) {
  std::string text = "complete -c ductile -f -n __fish_use_subcommand -l help -l version\n";
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : all) {
    std::string what = command->get_description();
    for (std::size_t at = 0; (at = what.find('\'', at)) != std::string::npos; at += 2) {
      what.insert(at, 1, '\\');
    }
    text += fmt::format("complete -c ductile -n __fish_use_subcommand -a {} -d '{}'\n",
                        command->get_name(), what);
  }
  for (const Command& command : commands) {
    if (command.path.empty()) continue;
    const std::string first = command.path.substr(0, command.path.find(' '));
    for (const std::string& word : command.words) {
      const std::string what = word.starts_with("--")  ? "-l " + word.substr(2)
                               : word.starts_with("-") ? "-s " + word.substr(1)
                                                       : "-a " + word;
      text +=
          fmt::format("complete -c ductile -n '__fish_seen_subcommand_from {}' {}\n", first, what);
    }
  }
  return text + fmt::format("complete -c ductile -l policy -x -a '{}'\n", policies);
}

}  // namespace

void add_completion_command(CLI::App& app, const Registry& registry) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print what a shell needs to complete commands and options");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &registry, shell] {
    const std::string policies = names_of(registry.policies);
    std::vector<Command> commands;
    gather(app, "", commands);
    if (*shell == "fish") {
      std::cout << fish(app, commands, policies);
      return;
    }
    if (*shell == "zsh") std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
    std::cout << bash(commands, policies);
  });
}

}  // namespace ductile
