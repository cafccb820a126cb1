// What a page draws of a run, made of the files of its folder.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "metrics/summary.hpp"
#include "report/jobs_csv.hpp"

namespace ductile {

struct RunDrawing {
  std::string workload;              // its name
  nlohmann::ordered_json submitted;  // its jobs as they came: the same in all runs of a workload
  nlohmann::ordered_json json;       // `Drawn` of web/src/data.ts, but for where its parts are
  std::size_t jobs = 0, rows = 0;
  bool is_whole =
      true;  // else there were more rows than there may be, and the last jobs are missing
};

/// `jobs`: of its jobs.csv, by number. `most_rows`: of jobs and of what they held, in intervals of
/// nodes. Throws InputError.
RunDrawing draw_run(const std::filesystem::path& folder, const Summary& summary, JobsCsvRows jobs,
                    std::size_t most_rows);

}  // namespace ductile
