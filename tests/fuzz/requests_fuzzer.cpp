// Requests of the controller from anywhere: a line is no JSON, or a job that can be run, or refused
// with words. A job that is taken is the same after the journal, and its core is told nothing that
// makes no sense. What users write for dependencies, arrays, times and limits is read or refused.
//
// Inputs that begin with a word and a space are the text of such an option, without these; all
// others are lines.
//
// Readers: src/live/submission.cpp src/live/conditions.cpp src/model/dependency.cpp
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/json_line.hpp"
#include "live/conditions.hpp"
#include "live/submission.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

// Not assert: it holds in every build.
void require(bool condition, int line = __builtin_LINE()) {
  if (condition) return;
  std::fprintf(stderr, "line %d does not hold\n", line);
  std::abort();
}

void fuzz_option(std::string_view option, std::string_view text) {
  const Time now(whole_seconds(1'900'000'000));
  if (option == "dependency") {
    const auto read = parse_dependencies(text);
    require(!read.empty() && parse_dependencies(to_text(read)) == read);
  } else if (option == "array") {
    const TaskArray read = parse_array(text);
    require(read.count() > 0 && read.count() <= TaskArray::kMost &&
            parse_array(to_text(read)) == read);
  } else if (option == "begin") {
    require(parse_begin(text, now) > Time(whole_seconds(-86'400)));
  } else if (option == "time") {
    require(parse_limit(text) > Duration{});
  } else if (option == "output") {
    file_name(text, {.number = 12, .name = "name", .array = 10, .task = 3});
    require(is_printable(printable(text)));
  }
}

void fuzz_line(std::string_view line) {
  const Json request = parse_json_line(line);
  if (!request.is_object() || !request.contains("job")) return;
  const Submission job = submission_from_json(request["job"]);
  const std::string written = to_json(job).dump(-1, ' ', false, Json::error_handler_t::replace);
  require(to_json(submission_from_json(Json::parse(written))) == to_json(job));
  const Platform platform{.nodes = 16, .cores_per_node = 2};
  const JobSpec spec = spec_of(job, platform);
  require(spec.size.min >= 1 && spec.size.max <= platform.nodes);
  require(spec.size.contains(spec.preferred) && is_printable(job.name));
  require(job.processes_per_node(platform) >= 1);
  adaptive_spec_of(job);
}

}  // namespace
}  // namespace ductile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    std::string_view rest = text;
    const std::string_view word = ductile::next_part(rest, ' ');
    if (!word.empty() && word.front() >= 'a' && word.front() <= 'z') {
      ductile::fuzz_option(word, rest);
    } else {
      ductile::fuzz_line(text);
    }
  } catch (const ductile::InputError& error) {
    if (*error.what() == '\0') std::abort();
  } catch (const nlohmann::json::exception&) {
    // The controller answers that the request is not as it should be.
  }
  return 0;
}
