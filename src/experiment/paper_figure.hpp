// A figure of a paper with our numbers.
#pragma once

#include <string>
#include <vector>

#include "experiment/reproduction.hpp"
#include "experiment/targets_file.hpp"

namespace ductile {

/// The name of its file: "001-fig-4.svg".
std::string name_of_drawing(const std::string& paper, const PaperFigure& figure);

/// As SVG: the means of its policies in each of its variants, with 95 % intervals over the seeds.
/// Of what was not run there is nothing; empty, if that is all.
std::string draw_figure(const PaperFigure& figure, const Reproduced& its);

}  // namespace ductile
