// The options of pictures for papers, which `report` and `simulate` have.
#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "report/page.hpp"
#include "report/plot.hpp"

namespace ductile {

struct FigureOptions {
  std::string folder;  // empty: no pictures
  double font = 8;
  std::string width = "column";
};

/// --figures, --font-size and --width.
void add_figure_options(CLI::App& command, FigureOptions& options);

/// Throws InputError where a width is none.
Look look_of(const FigureOptions& options);

/// The pictures of what `simulate --out` has written into this folder.
void write_figures_of(const std::string& folder, const FigureOptions& options);

}  // namespace ductile
