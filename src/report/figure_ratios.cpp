// By class of size and run time: what a policy does for jobs, against another one.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/figures.hpp"
#include "report/job_classes.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

struct RatioCell {
  double sum = 0;
  std::size_t jobs = 0;
  double mean() const { return sum / static_cast<double>(jobs); }
};
using RatioGrid = std::vector<std::vector<RatioCell>>;  // by run time and size

// Blue where it is less, orange where it is more: white for the same, full for four times as much.
Colour colour_of_ratio(double ratio) {
  const double strength = std::min(std::abs(std::log2(ratio)) / 2, 1.0);
  return mixed(kWhite, ratio < 1 ? kColours[0] : kColours[1], 0.85 * strength);
}

std::string ratio_text(double ratio) {
  return ratio < 10 ? fmt::format("{:.2f}", ratio) : fmt::format("{:.0f}", ratio);
}

}  // namespace

std::vector<Figure> ratio_figures(std::span<const PolicyFiles> policies, std::size_t baseline,
                                  const Look& look) {
  if (policies.size() < 2 || policies[baseline].jobs.empty()) return {};
  const JobClasses classes = classes_of(policies[baseline]);
  const Classes sizes = classes.sizes, times = classes.runtimes;
  std::vector<Figure> figures;
  for (const FigureQuantity& quantity : figure_quantities()) {
    if (!quantity.of_job || quantity.name == "turnaround") continue;
    std::vector<RatioGrid> grids;
    for (const PolicyFiles& policy : policies) {
      RatioGrid& grid = grids.emplace_back(times.size(), std::vector<RatioCell>(sizes.size()));
      for (const FigureJob& job : policy.jobs) {
        RatioCell& cell = grid[times.of(job.run_s)][sizes.of(job.size)];
        cell.sum += quantity.of_job(job);
        ++cell.jobs;
      }
    }
    Figure figure;
    figure.name = fmt::format("{}-heat", quantity.name);
    figure.caption = fmt::format(
        "Mean {} by size and run time, as ratio to that under {}, over all seeds: below 1, and "
        "blue, is "
        "shorter. A dash: there are no jobs, or they do not wait there.",
        quantity.title, policies[baseline].policy);
    figure.csv = "policy,size,run_time,jobs,mean,baseline_mean,ratio\n";
    std::vector<std::string> names;
    std::vector<RatioGrid> shown;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      if (i == baseline) continue;
      names.push_back(policies[i].policy);
      shown.push_back(grids[i]);
      std::string name;
      append_field(name, policies[i].policy);
      for (std::size_t t = 0; t < times.size(); ++t) {
        for (std::size_t s = 0; s < sizes.size(); ++s) {
          const RatioCell &its = grids[i][t][s], &base = grids[baseline][t][s];
          if (its.jobs == 0 || base.jobs == 0) continue;
          figure.csv += fmt::format("{},{},{},{}", name, sizes.names[s], times.names[t], its.jobs);
          append_number(figure.csv += ',', its.mean());
          append_number(figure.csv += ',', base.mean());
          figure.csv += ',';
          if (base.sum > 0) append_number(figure.csv, its.mean() / base.mean());
          figure.csv += '\n';
        }
      }
    }
    const RatioGrid base = grids[baseline];
    double left = 0;
    for (const std::string& name : times.names) left = std::max(left, text_width(name, look.font));
    left += 1.8 * look.font + 4;
    const double cell = 1.9 * look.font, title = 1.8 * look.font, foot = 3.4 * look.font;
    const double each = title + cell * static_cast<double>(times.size()) + 0.4 * look.font;
    figure.height = look.margin() + each * static_cast<double>(names.size()) + foot;
    figure.draw = [=](Canvas& canvas) {
      const double wide = (look.width - left - look.margin()) / static_cast<double>(sizes.size());
      for (std::size_t i = 0; i < names.size(); ++i) {
        const double top = look.margin() + each * static_cast<double>(i) + title;
        canvas.text({left, top - 0.5 * look.font}, fitting(names[i], look.font, look.width - left),
                    look.letters());
        for (std::size_t t = 0; t < times.size(); ++t) {
          // Long jobs are above.
          const double y = top + cell * static_cast<double>(times.size() - 1 - t);
          canvas.text({left - 4, y + cell / 2 + 0.35 * look.font}, times.names[t],
                      look.letters(Anchor::end));
          for (std::size_t s = 0; s < sizes.size(); ++s) {
            const Area area{left + wide * static_cast<double>(s), y, wide, cell};
            const RatioCell &its = shown[i][t][s], &was = base[t][s];
            const bool is_known = its.jobs > 0 && was.jobs > 0 && was.sum > 0 && its.sum > 0;
            const double ratio = is_known ? its.mean() / was.mean() : 1;
            if (is_known) canvas.fill(area, colour_of_ratio(ratio));
            canvas.frame(area, {.colour = kWhite, .width = 0.8});
            canvas.text({area.left + wide / 2, y + cell / 2 + 0.35 * look.font},
                        is_known ? ratio_text(ratio) : "–",
                        look.letters(Anchor::middle, is_known ? kInk : kSoft));
          }
        }
        Lettering upwards = look.letters(Anchor::middle);
        upwards.upwards = true;
        canvas.text({look.font, top + cell * static_cast<double>(times.size()) / 2}, "run time",
                    upwards);
      }
      const double bottom = look.margin() + each * static_cast<double>(names.size());
      for (std::size_t s = 0; s < sizes.size(); ++s) {
        canvas.text({left + wide * (static_cast<double>(s) + 0.5), bottom + look.font},
                    sizes.names[s], look.letters(Anchor::middle));
      }
      canvas.text({left + (look.width - left - look.margin()) / 2, bottom + 2.5 * look.font},
                  "size (nodes)", look.letters(Anchor::middle));
    };
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace ductile
