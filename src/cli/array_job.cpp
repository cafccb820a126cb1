#include "cli/array_job.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "cli/process.hpp"
#include "cli/results.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

fs::path folder_of_tasks(const fs::path& out) { return out / "tasks"; }

constexpr const char* kScript = "job.sh";

// The call of a task: this one, but for where and how it runs.
std::string call_of_task(const CLI::App& command) {
  constexpr std::array<std::string_view, 6> kOthers{"on",    "tasks", "force",
                                                    "quiet", "json",  "help"};
  std::string call =
      shell_word(fs::read_symlink("/proc/self/exe").string()) + " simulate --on=task --quiet";
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    const std::string name = option->get_lnames().empty() ? "" : option->get_lnames().front();
    if (std::ranges::find(kOthers, name) != kOthers.end()) continue;
    if (option->get_expected_max() == 0) call += " " + shell_word("--" + name);
    if (option->get_expected_max() == 0) continue;
    for (const std::string& value : option->results()) {
      call += " " + shell_word(name.empty() ? value : fmt::format("--{}={}", name, value));
    }
  }
  return call;
}

std::string threads_of(const CLI::App& command) {
  const CLI::Option* const option = command.get_option("--threads");
  return option->count() > 0 ? option->results().back() : "1";
}

}  // namespace

void run_array_job(const CLI::App& command, const fs::path& out, unsigned tasks, bool quiet) {
  const fs::path folder = fs::absolute(folder_of_tasks(out)).lexically_normal();
  make_folder(folder);
  {
    OutputFile script(folder / kScript);
    script.text() = "#!/bin/sh\nexec " + call_of_task(command) + "\n";
    script.commit();
  }
  std::vector<std::string> words{"sbatch",
                                 "--wait",
                                 fmt::format("--array=1-{}", tasks),
                                 "--cpus-per-task=" + threads_of(command),
                                 "--job-name=ductile",
                                 fmt::format("--chdir={}", fs::current_path().string()),
                                 fmt::format("--output={}/%A_%a.log", folder.string()),
                                 (folder / kScript).string()};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::atomic<bool>& is_asked_to_stop = stop_on_signal();
  std::cout.flush();
  // What it says, as the number of the job, is no result.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t sbatch = 0;
  const int error =
      posix_spawnp(&sbatch, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw InputError({.field = "--on slurm"},
                     std::string("sbatch cannot be started: ") + std::strerror(error),
                     "call it where Slurm is, or leave --on away");
  }
  if (!quiet) std::cerr << fmt::format("ductile: waits for {} tasks\n", tasks);
  int status = 0;
  while (waitpid(sbatch, &status, WNOHANG) == 0) {
    if (is_asked_to_stop.load()) kill(sbatch, SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (is_asked_to_stop.load()) {
    throw Stopped(
        "stopped waiting; the array job goes on, and scancel ends it. The same command takes what "
        "is over, and submits what is not");
  }
  if (status != 0 && !quiet) std::cerr << "ductile: sbatch or a task of it has failed\n";
}

std::size_t take_results_of_tasks(const Matrix& matrix) {
  ResultsFile& results = *matrix.results;
  const PlannedRuns planned(matrix);
  std::map<std::string, std::size_t> missing;  // by folder
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (!results.is_over(planned.folder(i))) missing[planned.folder(i)] = i;
  }
  std::error_code none;
  std::vector<fs::path> tasks;
  for (const auto& entry : fs::directory_iterator(folder_of_tasks(results.folder()), none)) {
    if (fs::exists(entry.path() / ResultsFile::kName)) tasks.push_back(entry.path());
  }
  std::ranges::sort(tasks);
  for (const fs::path& task : tasks) {
    try {
      const ResultsFile its(task, ResultsFile::ToRead{});
      its.each_run(planned.name(), [&](const PlannedRun& run) {
        const auto at = missing.find(run.folder);
        if (at == missing.end() || !run.is_over) return;
        const PlannedRun wanted = planned[at->second];
        if (run.identity != wanted.identity || !has_its_summary(task / run.folder, run.identity)) {
          return;
        }
        move_results(task / run.folder, results.folder() / run.folder);
        results.add(wanted, its);
        missing.erase(at);
      });
    } catch (const InputError& error) {
      std::cerr << "ductile: what a task has done is run again: " << error.what() << '\n';
    }
  }
  return missing.size();
}

void ready_claims(const Matrix& matrix) {
  const fs::path claims = folder_of_claims(matrix.results->folder());
  make_folder(claims);
  const PlannedRuns planned(matrix);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    Claims::set_over(claims, planned[i], matrix.results->is_over(planned.folder(i)));
  }
}

void remove_tasks(const fs::path& out) {
  std::error_code ignored;
  const fs::path folder = folder_of_tasks(out);
  if (fs::exists(folder_of_claims(out), ignored)) fs::remove_all(folder, ignored);
}

std::string task_name() {
  const char* const job = std::getenv("SLURM_ARRAY_JOB_ID");
  const char* const task = std::getenv("SLURM_ARRAY_TASK_ID");
  if (job != nullptr && task != nullptr) return fmt::format("{}_{}", job, task);
  throw InputError({.field = "--on task"}, "is how tasks of an array job are called",
                   "write --on slurm, which submits them");
}

fs::path folder_of_task(const fs::path& out, const std::string& task) {
  return folder_of_tasks(out) / task;
}

fs::path folder_of_claims(const fs::path& out) { return folder_of_tasks(out) / "claims"; }

}  // namespace ductile
