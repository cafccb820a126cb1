#include "cli/results.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "cli/run_identity.hpp"
#include "cli/temporary_folder.hpp"
#include "report/run_folder.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using UnorderedJson = nlohmann::json;

constexpr const char* kSummary = "summary.json";
constexpr const char* kDamaged = "what it says of it is damaged: ";
constexpr const char* kNoRecord =
    "give a folder that `simulate --out` wrote, of this version or later";

// ---- What is in a folder ------------------------------------------------------------------------

// Of the runs that have come to their end there.
std::vector<ReadSummary> summaries_in(const fs::path& folder) {
  const fs::path file = folder / kSummary;
  std::error_code error;
  return fs::exists(file, error) ? read_summaries(file.string()) : std::vector<ReadSummary>();
}

// Where the files of each run are, within the folder of the matrix.
std::vector<std::string> folders_of(const Matrix& matrix) {
  std::vector<std::string> folders = folder_names(matrix);
  if (folders.size() == 1) folders.front().clear();
  return folders;
}

bool is_name_of_results(std::string_view name) {
  return name == "runs.csv" || std::ranges::find(kRunFiles, name) != kRunFiles.end();
}

// A file that was not complete when its run ended.
bool is_name_of_part(std::string_view name) {
  constexpr std::string_view kPart = ".part";
  return name.ends_with(kPart) && is_name_of_results(name.substr(0, name.size() - kPart.size()));
}

// The file of results, and what SQLite has beside it while it writes.
constexpr std::array<std::string_view, 2> kDatabaseNames{"results.db-journal", ResultsFile::kName};
bool is_name_of_database(std::string_view name) {
  return std::ranges::find(kDatabaseNames, name) != kDatabaseNames.end();
}

// Collects the files of results in a folder. `runs`: the folders in it that may be there, which
// come after what is in them.
void collect_results(const fs::path& folder, const std::set<std::string>& runs,
                     std::vector<fs::path>& found) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const std::string name = path.filename().string();
    const fs::file_status status = entry.symlink_status();
    if (fs::is_regular_file(status) && is_name_of_database(name)) continue;
    if (fs::is_directory(status) && runs.contains(name)) {
      collect_results(path, {}, found);
    } else if (!fs::is_regular_file(status) ||
               !(is_name_of_part(name) || is_name_of_results(name))) {
      throw InputError({.field = "--force"}, path.string() + " is none of the results",
                       "move it elsewhere, or give another folder to --out");
    }
    found.push_back(path);
  }
}

// ---- What differs -------------------------------------------------------------------------------

// An option, as a user would know it.
std::string option_text(const UnorderedJson& run, const std::string& name) {
  for (const char* of : {"options", "defaults"}) {
    if (!run.at(of).contains(name)) continue;
    const UnorderedJson& value = run.at(of).at(name);
    if (value.is_null() || value == false) return "not given";
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  return "not given";
}

// In what one run is another one than the other. There is something.
std::string difference(const UnorderedJson& old, const UnorderedJson& now) {
  const auto text = [](const UnorderedJson& run, const char* name) {
    const UnorderedJson& value = run.at(name);
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  std::set<std::string> names;
  for (const UnorderedJson* run : {&old, &now}) {
    for (const auto& [name, value] : run->at("options").items()) names.insert(name);
  }
  for (const std::string& name : names) {
    const std::string before = option_text(old, name), after = option_text(now, name);
    if (before != after) return fmt::format("--{} was {}, and is {}", name, before, after);
  }
  for (const char* name : {"policy", "seed", "program"}) {
    if (!now.contains(name) || old.at(name) == now.at(name)) continue;
    return fmt::format("{} was {}, and is {}", name, text(old, name), text(now, name));
  }
  for (const UnorderedJson& input : now.at("inputs")) {
    const UnorderedJson& before = old.at("inputs");
    if (std::ranges::find(before, input) == before.end()) {
      return input.at("file").get<std::string>() + " has changed";
    }
  }
  return "the defaults of its options or of its policy were other ones";
}

[[noreturn]] void refuse_to_write(const fs::path& folder, const std::string& why) {
  throw InputError({.file = folder.string()}, "has the results of another run: " + why,
                   "give another folder to --out, or --force to have them removed");
}

// A file of results in a folder that has no summary; empty if there is none. `of_several`: but for
// those that compare runs.
std::string file_without_summary(const fs::path& folder, bool of_several) {
  std::error_code error;
  if (fs::exists(folder / kSummary, error) || !fs::is_directory(folder, error)) return "";
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    const bool compares = name == "report.html" || name == "runs.csv";
    if (is_name_of_results(name) && !(of_several && compares)) return name;
  }
  return "";
}

// Removes the files of results in a folder, and it, if it is empty then.
void remove_results(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (is_name_of_results(name) || is_name_of_part(name)) found.push_back(entry.path());
  }
  for (const fs::path& each : found) fs::remove(each);
  fs::remove(folder, error);  // what is not empty stays
}

// Removes the results of runs that are no longer in a matrix, and forgets them.
void remove_gone(ResultsFile& file, const std::string& matrix) {
  const std::vector<std::string> gone = file.gone(matrix);
  if (gone.empty()) return;
  for (const std::string& folder : gone) remove_results(file.folder() / folder);
  if (file.is_all_gone(matrix)) remove_results(file.folder() / matrix);
  file.forget_gone(matrix);
}

// Why what was run in a folder is none of the matrix; empty: it is the run of this number. No
// number: the matrix has no run of that name.
std::string why_other(const PlannedRuns& planned, std::optional<std::size_t> number,
                      const std::string& identity, const std::string& policy, std::uint64_t seed) {
  UnorderedJson before = UnorderedJson::parse(identity),
                now = UnorderedJson::parse(planned[number.value_or(0)].identity);
  if (number) return before == now ? "" : difference(before, now);
  for (const char* of_one : {"policy", "parameters", "seed"}) {
    before.erase(of_one);
    now.erase(of_one);
  }
  if (before != now) return difference(before, now);
  return fmt::format("it has one of {} with seed {}, and this call has not", policy, seed);
}

// Throws InputError, which says what differs, if a folder of the matrix holds results of which the
// file of results knows nothing, and that are none of these runs. `known`: the folders that it
// knows.
void need_room_for_others(const Matrix& matrix, const PlannedRuns& planned,
                          const std::set<std::string>& known) {
  std::map<std::string, std::size_t> numbers;  // by folder within that of the matrix
  for (std::size_t i = 0; i < planned.size(); ++i) numbers[planned.name_within(i)] = i;
  const auto check = [&](const fs::path& folder, const Summary& found, const std::string& name) {
    if (found.run.empty()) refuse_to_write(folder, "it does not say what it was");
    const auto own = numbers.find(name);
    const auto number = own == numbers.end() ? std::nullopt : std::optional(own->second);
    const std::string why = why_other(planned, number, found.run, found.policy, found.seed);
    if (!why.empty()) refuse_to_write(folder, why);
  };
  const auto check_all = [&](const fs::path& folder, const std::string& name) {
    // What was ended while its files were put in place is written anew in the folder of several
    // runs. In that of one a file could stay that is none of this run's.
    const bool is_of_several = name.empty() && planned.size() > 1;
    if (const std::string file = file_without_summary(folder, is_of_several); !file.empty()) {
      refuse_to_write(folder, fmt::format("{} is there without {}", file, kSummary));
    }
    try {
      for (const ReadSummary& run : summaries_in(folder)) {
        check(folder, run.summary, name.empty() ? run.folder : name);
      }
    } catch (const UnorderedJson::exception& error) {
      refuse_to_write(folder, kDamaged + std::string(error.what()));
    }
  };
  if (known.empty()) check_all(matrix.out, "");
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (planned.name_within(i).empty() || known.contains(planned.folder(i))) continue;
    check_all(matrix.out / planned.name_within(i), planned.name_within(i));
  }
}

// ---- Running again ------------------------------------------------------------------------------

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw RunError(path.string() + ": cannot be read: " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

// Without what measures the machine.
UnorderedJson figures_of(const fs::path& path) {
  UnorderedJson json = UnorderedJson::parse(bytes_of(path), nullptr, false);
  const auto strip = [](UnorderedJson& run) {
    const Summary names;
    visit_measurements(names, [&](const char* name, const auto&) {
      if (run.is_object()) run.erase(name);
    });
  };
  strip(json);
  if (json.is_object() && json.contains("runs")) std::ranges::for_each(json["runs"], strip);
  return json;
}

bool are_same(const fs::path& a, const fs::path& b) {
  if (a.filename() == kSummary) return figures_of(a) == figures_of(b);
  return fs::file_size(a) == fs::file_size(b) && bytes_of(a) == bytes_of(b);
}

// The files of results below a folder, by their names there.
std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && is_name_of_results(entry.path().filename().string())) {
      names.insert(entry.path().lexically_relative(folder).string());
    }
  }
  return names;
}

// Is each input there as it was?
void check_inputs(const UnorderedJson& run) {
  for (const UnorderedJson& input : run.at("inputs")) {
    const std::string name = input.at("file").get<std::string>(), path = found_input(name);
    const Place place{path, 0, input.at("option").get<std::string>()};
    if (input.at("crc64").is_null()) {
      throw InputError(place, "was no regular file, and cannot be read again",
                       "simulate with a file");
    }
    std::error_code error;
    if (!fs::exists(path, error)) {
      throw InputError(place, "an input of the run is not there",
                       "put it there, or go to the folder from which it was simulated");
    }
    const auto now = read_content(path);
    if (now && input.at("bytes") == now->bytes && input.at("crc64") == now->crc64) continue;
    throw InputError(place,
                     fmt::format("is not what it was: {} bytes with CRC-64 {}, not {} with {}",
                                 now ? now->bytes : 0, now ? now->crc64 : "?",
                                 input.at("bytes").dump(), input.at("crc64").get<std::string>()),
                     "give it back its content");
  }
}

std::vector<std::string> options_again(const std::vector<ReadSummary>& runs,
                                       const UnorderedJson& run) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : run.at("options").items()) {
    if (is_of_results(name)) continue;  // nobody wrote that: no file is to come of it
    if (value.is_boolean()) texts.push_back("--" + name);
    for (const UnorderedJson& each : value.is_string() ? UnorderedJson::array({value}) : value) {
      if (!each.is_string()) continue;
      std::string text = each.get<std::string>();
      const auto names_it = [&](const UnorderedJson& input) { return input.at("file") == text; };
      if (std::ranges::any_of(run.at("inputs"), names_it)) text = found_input(text);
      texts.push_back(fmt::format("--{}={}", name, text));
    }
  }
  std::vector<std::string> policies;
  for (const ReadSummary& each : runs) {
    const std::string& policy = each.summary.policy;
    if (std::ranges::find(policies, policy) == policies.end()) policies.push_back(policy);
  }
  for (const std::string& policy : policies) texts.push_back("--policy=" + policy);
  const std::uint64_t first = runs.front().summary.seed, last = runs.back().summary.seed;
  texts.push_back(first == last ? fmt::format("--seed={}", first)
                                : fmt::format("--seeds={}..{}", first, last));
  return texts;
}

// The folders of matrices: this one, or those of the variants in it.
std::vector<fs::path> matrices_in(const fs::path& folder) {
  if (fs::exists(folder / kSummary)) return {folder};
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / kSummary)) found.push_back(entry.path());
  }
  if (found.empty()) {
    throw InputError({.file = folder.string()}, "there are no results in it", kNoRecord);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

bool has_its_summary(const fs::path& folder, const std::string& identity) {
  try {
    const std::vector<ReadSummary> runs = summaries_in(folder);
    return runs.size() == 1 && !runs.front().summary.stopped &&
           UnorderedJson::parse(runs.front().summary.run) == UnorderedJson::parse(identity);
  } catch (const std::exception&) {
    return false;  // it is damaged
  }
}

void move_results(const fs::path& from, const fs::path& to) {
  std::error_code error;
  remove_results(to);
  fs::create_directories(to, error);
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(from, error)) {
    if (is_name_of_results(entry.path().filename().string())) found.push_back(entry.path());
  }
  for (const fs::path& each : found) {
    fs::rename(each, to / each.filename(), error);
    if (error) throw RunError((to / each.filename()).string() + ": " + error.message());
  }
}

OpenResults::~OpenResults() {
  for (auto& [folder, file] : files_) {
    try {
      if (!file || file->has_any()) continue;
      file.reset();
      std::error_code ignored;
      fs::remove(folder / ResultsFile::kName, ignored);
      if (made_.contains(folder)) fs::remove(folder, ignored);  // what is not empty stays
    } catch (const std::exception&) {
      // It stays, and is looked at when it is opened again.
    }
  }
}

ResultsFile& OpenResults::at(const ResultsPlace& place, bool force) {
  const fs::path folder = place.folder.lexically_normal();
  if (!files_.contains(folder) && !fs::exists(folder)) made_.insert(folder);
  std::unique_ptr<ResultsFile>& file = files_[folder];
  if (file) return *file;
  try {
    file = std::make_unique<ResultsFile>(folder);
  } catch (const DamagedResults&) {
    if (!force) throw;
    for (const std::string_view name : kDatabaseNames) fs::remove(folder / name);
    file = std::make_unique<ResultsFile>(folder);
  }
  if (const auto before = file->experiment(); before && *before != place.experiment && !force) {
    const auto name = [](const std::string& experiment) {
      return experiment.empty() ? "no experiment file" : experiment;
    };
    refuse_to_write(folder, fmt::format("they are of {}, and these of {}", name(*before),
                                        name(place.experiment)));
  }
  const std::vector<std::string> before = file->matrices();
  const auto is_of_variant = [](const std::string& matrix) { return !matrix.empty(); };
  // The page of all variants is of runs that are over: it is made anew at the end.
  if (const fs::path page = folder / "report.html"; fs::exists(page)) {
    const bool is_ours = std::ranges::any_of(before, is_of_variant);
    if (before.empty() && !force && std::ranges::any_of(place.matrices, is_of_variant)) {
      refuse_to_write(folder, fmt::format("report.html is there without {}", ResultsFile::kName));
    }
    if (is_ours) fs::remove(page);
  }
  for (const std::string& matrix : before) {
    if (std::ranges::find(place.matrices, matrix) != place.matrices.end()) continue;
    file->drop(matrix);
    remove_gone(*file, matrix);
  }
  file->set_experiment(place.experiment);
  file->set_order(place.matrices);
  return *file;
}

void ready_results(const Matrix& matrix) {
  ResultsFile& file = *matrix.results;
  const PlannedRuns planned(matrix);
  std::map<std::string, std::size_t> numbers;  // by folder within that of the results
  for (std::size_t i = 0; i < planned.size(); ++i) numbers[planned.folder(i)] = i;

  // Also of what would have another folder, as the one run that is left of several.
  std::unordered_set<std::size_t> identities;
  const std::hash<std::string> hash;
  for (std::size_t i = 0; i < planned.size(); ++i) identities.insert(hash(planned[i].identity));

  std::set<std::string> known, useless;
  std::string other;  // why what is over is of another matrix
  bool any_stays = false;
  file.each_run(planned.name(), [&](const PlannedRun& before) {
    known.insert(before.folder);
    const auto at = numbers.find(before.folder);
    const bool is_planned = at != numbers.end();
    const std::string identity = is_planned ? planned[at->second].identity : "";
    const bool is_same = before.identity == identity;
    any_stays = any_stays || (before.is_over && identities.contains(hash(before.identity)));
    if (before.is_over && !is_same && other.empty()) {
      try {
        other = why_other(planned, is_planned ? std::optional(at->second) : std::nullopt,
                          before.identity, before.policy, before.seed);
      } catch (const UnorderedJson::exception& error) {
        refuse_to_write(matrix.out, kDamaged + std::string(error.what()));
      }
    }
    if (!before.is_over || !is_same || !matrix.observers.empty() ||
        !(matrix.only_results || has_its_summary(file.folder() / before.folder, identity))) {
      useless.insert(before.folder);
    }
  });
  if (!other.empty() && !any_stays && file.experiment().value_or("").empty()) {
    refuse_to_write(matrix.out, other);
  }
  need_room_for_others(matrix, planned, known);

  for (const std::string& folder : useless) file.undo(folder);
  file.plan(planned.name(), planned.size(), [&](std::size_t i) { return planned[i]; });
  bool is_complete = file.gone(planned.name()).empty();
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const std::string folder = planned.folder(i);
    if (file.is_over(folder)) continue;
    is_complete = false;
    if (known.contains(folder)) remove_results(file.folder() / folder);
  }
  remove_gone(file, planned.name());
  // What compares runs of which some are not there any more.
  if (!is_complete && !known.empty()) remove_results(matrix.out);
}

void clear_results(const Matrix& matrix) {
  std::error_code error;
  if (!fs::is_directory(matrix.out, error)) return;
  std::set<std::string> runs;
  for (const std::string& name : folders_of(matrix)) runs.insert(name);
  try {
    for (const ReadSummary& run : summaries_in(matrix.out)) runs.insert(run.folder);
  } catch (const InputError&) {
    // It is damaged, and names no folders.
  }
  const std::string name = PlannedRuns(matrix).name();
  matrix.results->each_run(name, [&](const PlannedRun& run) {
    runs.insert(fs::path(run.folder).lexically_relative(name.empty() ? "." : name).string());
  });
  std::vector<fs::path> found;
  collect_results(matrix.out, runs, found);
  matrix.results->drop(name);
  for (const fs::path& each : found) fs::remove(each);
  matrix.results->forget_gone(name);
}

bool run_again(const std::string& folder, const CLI::App& given,
               const std::function<std::vector<Summary>(const std::vector<std::string>&,
                                                        const std::string&)>& simulate) {
  std::vector<std::string> passed;
  for (const CLI::Option* option : given.get_options()) {
    if (option->count() == 0) continue;
    const std::string name = option->get_single_name();
    if (name == "again") continue;
    if (name != "threads" && name != "quiet" && name != "json") {
      throw InputError({.field = option->get_name()},
                       "the folder of --again says itself what is run", "leave it away");
    }
    passed.push_back(name == "threads" ? "--threads=" + option->results().back() : "--" + name);
  }
  std::vector<std::string> different;
  std::size_t same = 0;
  for (const fs::path& matrix : matrices_in(folder)) {
    const std::string file = (matrix / kSummary).string();
    const std::vector<ReadSummary> runs = read_summaries(file);
    if (runs.empty() || runs.front().summary.run.empty()) {
      throw InputError({.file = file}, "does not say what was run", kNoRecord);
    }
    if (std::ranges::any_of(runs, [](const ReadSummary& r) { return r.summary.stopped; })) {
      throw InputError({.file = file}, "was stopped before its end", "let it run to its end first");
    }
    const TemporaryFolder made;
    try {
      const UnorderedJson run = UnorderedJson::parse(runs.front().summary.run);
      check_inputs(run);
      std::vector<std::string> texts = options_again(runs, run);
      texts.insert(texts.end(), passed.begin(), passed.end());
      texts.push_back("--out=" + made.path().string());
      simulate(texts, runs.front().summary.variant);
    } catch (const UnorderedJson::exception& error) {
      throw InputError({.file = file}, std::string("its 'run' is damaged: ") + error.what(),
                       kNoRecord);
    } catch (const CLI::ParseError& error) {
      throw InputError({.file = file}, error.what(),
                       "run it with the program that its 'run' names");
    }
    std::set<std::string> names = names_in(made.path());
    names.merge(names_in(matrix));
    for (const std::string& name : names) {
      const fs::path before = matrix / name, now = made.path() / name;
      const bool is_same = fs::exists(before) && fs::exists(now) && are_same(before, now);
      if (!is_same) different.push_back(before.string());
      same += is_same ? 1 : 0;
    }
  }
  std::ostream& out = given.count("--json") > 0 ? std::cerr : std::cout;
  for (const std::string& name : different) out << "different: " << name << '\n';
  if (different.empty()) out << fmt::format("the same: all {} files\n", same);
  return different.empty();
}

}  // namespace ductile
