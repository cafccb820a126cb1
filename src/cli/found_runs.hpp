// Runs that were written with --out, as whoever compares them finds them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "metrics/summary.hpp"
#include "report/page.hpp"

namespace ductile {

/// A run, where its files are, and the place it has among those of other folders and variants.
struct FoundRun {
  std::filesystem::path folder;
  std::string within;  // before the policy in its name: "", "VARIANT/", "DIR/", "DIR/VARIANT/"
  Summary summary;
  std::string name() const { return within + summary.policy; }
};

/// All runs in these folders that are over: of one run, of several, or of the variants of an
/// experiment, in its order. Throws InputError where there are none, or a folder is given twice.
std::vector<FoundRun> find_runs(const std::vector<std::string>& folders);

/// The runs under their names, as a page and a comparison see them. `beside`: where the page is.
std::vector<RunPage> pages_of(const std::vector<FoundRun>& runs,
                              const std::filesystem::path& beside);

/// report.html in the folder of an experiment: all runs of all variants. The baseline is the first
/// policy of the first variant.
void write_page_of_variants(const std::filesystem::path& folder);

}  // namespace ductile
