// Slowdown-driven scheduling (D'Amico, Jokanovic and Corbalan 2019, paper 004): backfilling, and a
// malleable job that cannot start now starts inside of running ones, which leave it some of the
// cores of their nodes, if it is believed to end earlier so. Its mates are those whose slowdown
// suffers the least.
//
// With R running jobs, Q waiting ones and G guests started a pass costs O((1 + G) (R log R + Q))
// besides the plans of its base, and O(R log R) for each kind of job that might have mates: of so
// many nodes, cores and seconds.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "policies/registry.hpp"
#include "policies/sharing.hpp"
#include "policies/slurm_schedulers.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/mates.hpp"

namespace ductile {
namespace {

constexpr std::array<std::string_view, 4> kBaseWords{"easy", "conservative", "backfill", "slurm"};
enum class Base : std::uint8_t { easy, conservative, backfill, slurm };
constexpr std::array<std::string_view, 3> kAdmitWords{"guest", "response", "slowdown"};
enum class Admit : std::uint8_t { guest, response, slowdown };
/// Whose slowdown would be this or more is no mate: a number, or one of the running jobs' own, as
/// believed at the pass: their mean (DynAVGSD), or a percentile of them.
class MostSlowdown {
 public:
  explicit MostSlowdown(std::string_view text) {
    const std::string_view percentile = text == "median" ? "p50" : text;
    if (text == "mean") {
      kind_ = Kind::mean;
      return;
    }
    const bool is_percentile = percentile.starts_with('p');
    const auto value = text == "inf"
                           ? std::optional(std::numeric_limits<double>::infinity())
                           : parse_number<double>(percentile.substr(is_percentile ? 1 : 0));
    if (!value || *value <= 0 || (is_percentile && *value > 100)) {
      throw InputError({.field = "policy sd: max_slowdown"},
                       "'" + std::string(text) + "' is not possible",
                       "use a number above 0, inf, mean, median, or a percentile as p90");
    }
    kind_ = is_percentile ? Kind::percentile : Kind::number;
    value_ = *value;
  }

  double at(const Pass& pass) const {
    if (kind_ == Kind::number) return value_;
    std::vector<JobId> running(pass.running().begin(), pass.running().end());
    if (running.empty()) return std::numeric_limits<double>::infinity();
    std::ranges::sort(running);
    std::vector<double> all;
    for (const JobId id : running) {
      all.push_back(slowdown(pass.job(id).spec, pass.expected_end(id)));
    }
    if (kind_ == Kind::mean) {
      double sum = 0;
      for (const double each : all) sum += each;
      return sum / static_cast<double>(all.size());
    }
    std::ranges::sort(all);
    const double rank = std::ceil(value_ / 100 * static_cast<double>(all.size()));
    return all[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  }

 private:
  enum class Kind : std::uint8_t { number, mean, percentile };
  Kind kind_ = Kind::number;
  double value_ = 0;
};

/// One for all jobs, or besides others for those of some partitions: "10+short:5+long:mean".
class MostSlowdowns {
 public:
  explicit MostSlowdowns(std::string_view text) : everybody_(text.substr(0, text.find('+'))) {
    for (std::size_t at = text.find('+'), next = at; at != std::string_view::npos; at = next) {
      next = text.find('+', at + 1);
      std::string_view bound = text.substr(at + 1, next - at - 1);
      const std::string_view name = next_part(bound, ':');
      const auto is_it = [&](const Of& one) { return one.partition == name; };
      if (name.empty() || bound.empty() || std::ranges::any_of(of_, is_it)) {
        throw InputError({.field = "policy sd: max_slowdown"},
                         "'" + std::string(name) + "' is no partition with its own bound",
                         "write one for all, then those of partitions, each once: 10+short:5");
      }
      of_.push_back({std::string(name), MostSlowdown(bound)});
    }
  }

  /// At a pass, of each partition by its place in the platform's list; where there are none, of
  /// all.
  std::vector<double> at(const Pass& pass) const {
    const std::vector<Partition>& partitions = pass.platform().partitions;
    std::vector<double> all(std::max<std::size_t>(partitions.size(), 1), everybody_.at(pass));
    for (const Of& one : of_) {
      const auto at = std::ranges::find(partitions, one.partition, &Partition::name);
      if (at == partitions.end()) continue;
      all[static_cast<std::size_t>(at - partitions.begin())] = one.most.at(pass);
    }
    return all;
  }
  /// Of a job: that of its partition, of several the largest.
  static double of(const Pass& pass, JobId id, const std::vector<double>& all) {
    if (all.size() == 1) return all.front();
    const std::uint64_t its = pass.partitions_of(pass.reach_of(id));
    double most = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((its >> i & 1) != 0) most = std::max(most, all[i]);
    }
    return most;
  }

 private:
  struct Of {
    std::string partition;
    MostSlowdown most;
  };
  MostSlowdown everybody_;
  std::vector<Of> of_;
};

/// When a job ends that has this slowdown then, or a moment later.
Time latest_at(const JobSpec& job, double slowdown) {
  const double ticks = slowdown * static_cast<double>(job.walltime.count());
  constexpr auto kMost = static_cast<double>(Duration::max().count() / 4);
  return ticks < kMost ? job.submitted + Duration{static_cast<std::int64_t>(ticks) + 2} : kNever;
}

class Sd final : public Policy {
 public:
  explicit Sd(const Parameters& p)
      : Policy({.wakes = kAllButAnswers, .needs = {.parts = true}}),
        most_slowdowns_(p.choice("max_slowdown")),
        sharing_{.factor = p.decimal("sharing_factor"),
                 .mates = static_cast<std::uint32_t>(p.number("mates")),
                 .guests = static_cast<std::uint32_t>(p.number("guests")),
                 .candidates = static_cast<std::uint32_t>(p.number("candidates"))},
        free_nodes_(p.choice("free_nodes") == "on"),
        admit_(chosen<Admit>(p, "admit", kAdmitWords)),
        tick_(seconds(p.number("tick"))) {
    const Base base = chosen<Base>(p, "base", kBaseWords);
    if (base == Base::slurm) {
      backfill_ = slurm_.emplace(p).backfill();
      slowest_clock = slurm_->slowest_clock();
      return;
    }
    backfill_.reservation_depth = base == Base::easy ? 1
                                  : base == Base::conservative
                                      ? Backfill::kUnlimited
                                      : static_cast<std::uint32_t>(p.number("depth"));
  }

  void schedule(Pass& pass) const override {
    if (slurm_) {
      slurm_->start_in_order(pass);
      if (slurm_->backfills_now(pass)) start_and_share(pass);
      slurm_->wake(pass);
    } else {
      start_and_share(pass);
    }
    tick(pass, tick_);
  }

 private:
  void start_and_share(Pass& pass) const {
    const std::vector<double> most = most_slowdowns_.at(pass);
    const auto latest_end = [&](JobId id) {
      return latest_at(pass.job(id).spec, MostSlowdowns::of(pass, id, most));
    };
    const auto penalty = [&](const Guest&, Duration, const Mate& mate) -> std::optional<double> {
      const JobSpec& its = pass.job(mate.job).spec;
      const double with_guest = slowdown(its, mate.end);
      if (!(with_guest < MostSlowdowns::of(pass, mate.job, most))) return std::nullopt;
      const auto loss = static_cast<double>(mate.loss.count());
      if (admit_ == Admit::guest) return with_guest;
      if (admit_ == Admit::response) return loss;
      return loss / static_cast<double>(its.walltime.count());
    };
    const auto gains = [&](const Guest& guest, Duration gain, const ChosenMates& chosen) {
      return pays(guest, gain, chosen);
    };
    const auto start_inside = [&](MateFinder& finder, Timeline& plan, JobId id, Time at) {
      return start_as_guest(
          pass, finder, plan, id, at,
          {.free_nodes = free_nodes_, .penalty = penalty, .pays = gains, .are_alike = true});
    };
    const GuestStarts guests{
        .start = start_inside, .free_nodes = free_nodes_, .latest_end = latest_end};
    while (start_or_share(pass, backfill_, sharing_, guests)) {
    }
  }

  /// Is what it gains more than what its mates lose?
  bool pays(const Guest& guest, Duration gain, const ChosenMates& chosen) const {
    if (admit_ == Admit::guest) return true;
    const auto its = static_cast<double>(gain.count());
    const double length = static_cast<double>(guest.length.count());
    return (admit_ == Admit::response ? its : its / length) > chosen.penalty;
  }

  MostSlowdowns most_slowdowns_;
  Sharing sharing_;
  bool free_nodes_;
  Admit admit_;
  Duration tick_;
  Backfill backfill_;
  std::optional<SlurmSchedulers> slurm_{};  // of base=slurm
};

}  // namespace

PolicyInfo sd() {
  const std::string source = "D'Amico et al. 2019";
  PolicyInfo info{
      .name = "sd",
      .summary =
          "jobs start inside of running ones, which lend them cores, where that ends "
          "them earlier",
      .source = source,
      .parameters =
          {choice_parameter("base", kBaseWords, "easy", "how jobs start that share no nodes"),
           {.name = "depth",
            .type = ParameterType::integer,
            .fallback = "1",
            .min = 1,
            .max = Backfill::kUnlimited,
            .unit = "reservations",
            .summary = "of base=backfill"},
           sharing_factor_parameter("0.5"),
           {.name = "max_slowdown",
            .type = ParameterType::text,
            .fallback = "10",
            .summary = "who would have this slowdown or more is no mate: a number, inf, or of "
                       "the running jobs' slowdowns the mean, the median, or a percentile (p90); "
                       "of partitions another one, like 10+short:5+long:mean",
            .source = source},
           mates_parameter(),
           guests_parameter(),
           candidates_parameter("slowdown"),
           free_nodes_parameter("off"),
           choice_parameter("admit", kAdmitWords, "guest",
                            "a guest starts if it gains, or if it gains more response time, or "
                            "slowdown, than its mates lose"),
           tick_parameter("0")},
      .make = make_policy<Sd>};
  std::ranges::move(SlurmSchedulers::parameters("of base=slurm: "),
                    std::back_inserter(info.parameters));
  return info;
}

}  // namespace ductile
