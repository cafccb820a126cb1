#include "cli/write_log.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "cli/write_file.hpp"
#include "workload/adaptive.hpp"

namespace ductile {

void check_name_of_log(const std::string& out) {
  if (out.ends_with(".swf")) return;
  throw InputError({.field = "--out"}, "what is written is plain SWF", "give a name like x.swf");
}

void set_sizes(SwfHeader& header, std::size_t jobs, Nodes nodes, std::uint32_t cores_per_node) {
  header.version = "2.2";
  header.max_jobs = header.max_records = static_cast<std::int64_t>(jobs);
  if (nodes == 0) return;
  header.max_nodes = nodes;
  header.max_procs = std::int64_t{nodes} * cores_per_node;
}

void write_log(const std::string& name, const std::function<void(std::ostream&)>& log,
               const std::function<void(std::ostream&)>& adaptive) {
  if (adaptive) {
    write_files({{name, log}, {adaptive_path(name), adaptive}});
    return;
  }
  if (is_standard_output(name)) return write_file({name, log});
  if (const auto beside = adaptive_beside(name)) {
    throw InputError({.file = *beside},
                     fmt::format("would be read with {}, and is not of it", name),
                     "remove it, or give another name to --out");
  }
  write_file({name, log});
}

}  // namespace ductile
