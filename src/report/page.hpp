// The report: one HTML page that needs nothing but itself.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "metrics/summary.hpp"

namespace ductile {

/// What a page is told of a run. What it draws it reads from the files of the run.
struct RunPage {
  std::string folder;          // where its files are, as seen from the page; empty: beside it
  std::filesystem::path path;  // where they are
  Summary summary;
  bool has_links = true;  // to these files; else they go
};

/// A page that compares these runs, drawn by what web/ has become: of the first run of each policy
/// whose files are there all jobs, what they held, and the state of the cluster over time. The same
/// `baseline`: with which policy it compares, a place in `by_policy`. The same
/// runs give the same bytes: nothing on it depends on the machine it was made on. Throws InputError
/// where a file is damaged.
std::string html_page(std::span<const RunPage> runs, std::size_t baseline = 0);

}  // namespace ductile
