#include "workload/esp.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/decimal.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

constexpr std::int64_t kWhole = 100'000;  // of `EspType::fraction`

// What a draw of Stream::workload is about. (Other models draw for jobs there, by their numbers.)
enum class EspDraw : std::uint64_t { order = 1, malleable, evolving, serial };

Draws draws_of(std::uint64_t seed, EspDraw about) {
  return {seed, Stream::workload, static_cast<std::uint64_t>(about)};
}

constexpr EspTypeSet bit(std::size_t row) { return EspTypeSet{1} << row; }

// ---- Sizes and run times ------------------------------------------------------------------------

bool rounds_up(const EspModel& model) {
  if (model.round != EspModel::Round::by_constraints) return model.round == EspModel::Round::up;
  return model.constraints == EspModel::Constraints::none;
}

Nodes rounded(bool is_up, std::int64_t amount, std::int64_t unit) {
  const std::int64_t up = is_up ? unit - 1 : unit / 2;
  return static_cast<Nodes>(std::max<std::int64_t>((amount + up) / unit, 1));
}

// By how many nodes a malleable job grows.
Nodes stride(const EspModel& model, Nodes size) {
  return model.cores_per_host == 0 ? 1 : std::min(size, model.cores_per_host);
}

// Chadha, John and Gerndt 2020, table I.
SizeConstraint constraint_of(const EspModel& model, const EspType& type) {
  using Kind = SizeConstraint::Kind;
  constexpr std::string_view kPowersOfTwo = "BFJ", kEven = "DGL", kOdd = "H";
  if (model.constraints == EspModel::Constraints::none) return {};
  const auto is_in = [&](std::string_view letters) {
    return letters.find(type.letter) != std::string_view::npos;
  };
  return {is_in(kPowersOfTwo) ? Kind::power_of_two
          : is_in(kEven)      ? Kind::even
          : is_in(kOdd)       ? Kind::odd
                              : Kind::any};
}

// The largest size of a malleable job.
Nodes largest(const EspModel& model, Nodes size) {
  const Nodes by = stride(model, size);
  // On every host as many as on those that it has.
  const Nodes machine =
      model.cores_per_host == 0 ? model.nodes : model.nodes / model.cores_per_host * by;
  if (!model.max) return machine;
  const Wide most = std::min(model.max->floor_of(size), Wide{machine});
  return std::max(static_cast<Nodes>(most) / by * by, size);
}

// 4 of 128 cores.
Nodes asked(const EspModel& model) {
  return model.ask.value_or(rounded(rounds_up(model), model.nodes, 32));
}

// When a share `progress` of the work is done, an evolving job of `size` asks for `more` nodes, and
// if it gets them it shall take `rest` of its static run time from then on.
EvolvingStep request(double progress, Nodes size, Nodes more, double rest) {
  const double work = rest * (1 + static_cast<double>(more) / size);  // as a share of all its work
  return {.progress = progress,
          .delta = static_cast<std::int32_t>(more),
          .saves = std::clamp(1 - progress - work, -progress, 1 - progress)};
}

// Prabhakaran et al. 2015: a first attempt after 16 % of the run time, a second one after 25 %.
std::vector<EvolvingStep> requests(const EspModel& model, const EspType& type, Nodes size,
                                   Nodes more) {
  if (more == 0) return {};
  constexpr double kFirst = 0.16, kSecond = 0.25;
  const auto delta = static_cast<std::int32_t>(more);
  if (model.run_time == EspModel::RunTime::progress) {
    return {{.progress = kFirst, .delta = delta},
            {.progress = kSecond, .delta = delta, .if_denied = true}};
  }
  const double whole =
      static_cast<double>(esp_evolving_runtime_s(type)) / static_cast<double>(type.runtime_s);
  const EvolvingStep first = request(kFirst, size, more, whole - kFirst);
  EvolvingStep second = request(kSecond, size, more, (1 - kSecond) * whole);
  second.if_denied = true;
  return {first, second};
}

// ---- Types --------------------------------------------------------------------------------------

double run_time_of(EspTypeSet types) {
  std::int64_t sum = 0;
  for (std::size_t row = 0; row < kEspTypes.size(); ++row) {
    if ((types & bit(row)) != 0) sum += kEspTypes[row].count * kEspTypes[row].runtime_s;
  }
  return static_cast<double>(sum);
}

// A share of so many jobs, exactly: in parts of a job.
constexpr Wide kParts = 1'000'000'000'000'000'000;
Wide parts(const Decimal& share, std::int64_t jobs) { return share.floor_of(kParts * jobs); }

// How many jobs the types have beyond a share of all, or how many fewer; in such parts.
Wide off(EspTypeSet types, const Decimal& share) {
  const Wide more = kParts * esp_jobs(types) - parts(share, kEspJobs);
  return std::max(more, -more);
}

bool makes(EspTypeSet types, const Decimal& share) {
  if (share == Decimal(0)) return types == 0;
  if (share == Decimal(1)) return types == kAllEspTypes;
  return off(types, share) <= parts(Decimal(0.02), kEspJobs);
}

// The sets of `free` types that make the share.
std::vector<EspTypeSet> sets_that_make(const Decimal& share, EspTypeSet free, EspModel::Pick pick) {
  std::vector<EspTypeSet> sets;
  if (pick == EspModel::Pick::random) {
    for (EspTypeSet types = 0; types <= kAllEspTypes; ++types) {
      if ((types & ~free) == 0 && makes(types, share)) sets.push_back(types);
    }
    return sets;
  }
  EspTypeSet best = 0;
  const auto rank = [&](EspTypeSet types) {
    return std::tuple(off(types, share), -run_time_of(types), types);
  };
  for (EspTypeSet types = 1; types <= kAllEspTypes; ++types) {
    if ((types & ~free) == 0 && rank(types) < rank(best)) best = types;
  }
  return {best};
}

// What `types` may be without those of `others`. Named types may be malleable and evolving.
std::vector<EspTypeSet> choices(const EspModel& model, const EspTypes& types, EspTypeSet others) {
  if (!types.share) return {types.named};
  if (model.pick == EspModel::Pick::jobs) return {0};
  return sets_that_make(*types.share, kAllEspTypes & ~others, model.pick);
}

// Those that leave types for the malleable share.
std::vector<EspTypeSet> evolving_choices(const EspModel& model) {
  std::vector<EspTypeSet> sets = choices(model, model.evolving, model.malleable.named);
  const std::vector<EspTypeSet> malleable = choices(model, model.malleable, 0);
  if (model.malleable.share && model.pick == EspModel::Pick::random) {
    std::erase_if(sets, [&](EspTypeSet evolving) {
      return std::ranges::none_of(malleable, [&](EspTypeSet one) { return (one & evolving) == 0; });
    });
  }
  if (sets.empty()) {
    throw InputError({.field = model.malleable.share ? "malleable" : "evolving"},
                     "no types have jobs within 2 % of this share",
                     "name the types, as malleable=FGH, or use pick=longest");
  }
  return sets;
}

EspTypeSet draw(const std::vector<EspTypeSet>& sets, Draws draws) {
  return sets[draws.below(sets.size())];
}

void check(const EspModel& model) {
  const Nodes host = model.cores_per_host;
  if (host > 0 && model.nodes % host != 0) {
    throw InputError({.field = "unit"},
                     fmt::format("{} nodes are no whole number of hosts of {}", model.nodes, host),
                     "give nodes as the number of all cores");
  }
  const EspTypeSet both = model.malleable.named & model.evolving.named;
  if (host > 0 && both != 0) {
    throw InputError(
        {.field = "evolving"},
        fmt::format("{} are malleable as well, and grow by whole hosts", to_letters(both)),
        "give each type once, or unit=core");
  }
  if (model.malleable.share && model.evolving.share &&
      parts(*model.malleable.share, 1) + parts(*model.evolving.share, 1) > kParts) {
    throw InputError({.field = "malleable"},
                     fmt::format("{} and evolving={} are more than all jobs: types that are drawn "
                                 "are different ones",
                                 to_text(*model.malleable.share), to_text(*model.evolving.share)),
                     "make the shares smaller, or name types, as malleable=FGH: those named for "
                     "both are adaptive");
  }
  if (model.pick == EspModel::Pick::jobs && (model.evolving.share || model.evolving.named != 0)) {
    throw InputError({.field = "pick"}, "jobs draws malleable jobs alone",
                     "leave evolving away, or use pick=random");
  }
  const bool has_premium =
      model.mode == EspModel::Mode::esp2 || model.mode == EspModel::Mode::esp1_multimode;
  if (model.premium != EspModel::Premium::by_mode && !has_premium) {
    throw InputError({.field = "premium"}, "no job is privileged in this mode",
                     "leave premium away, or give mode=esp2 or mode=esp1_multimode");
  }
  if (host > 0 &&
      (model.constraints != EspModel::Constraints::none || model.min != EspModel::Min::size)) {
    throw InputError({.field = "unit"}, "malleable jobs grow by whole hosts",
                     "leave constraints and min away, or give unit=core");
  }
  if (model.most_serial > 0 && model.evolving.named != 0) {
    throw InputError({.field = "serial"}, "the run times of evolving jobs are those of linear ones",
                     "leave evolving away");
  }
  if (model.run_time == EspModel::RunTime::table && model.ask) {
    throw InputError({.field = "ask"},
                     "the run times of the table are for 1/32 of the machine more",
                     "leave ask away, or give evolving_mode=progress");
  }
}

// ---- Submissions --------------------------------------------------------------------------------

// Does nothing else start while a job of type Z waits?
bool is_barrier(const EspModel& model) {
  using Premium = EspModel::Premium;
  return model.premium == Premium::barrier ||
         (model.premium == Premium::by_mode && model.mode == EspModel::Mode::esp2);
}

// A job before it has a number.
struct Draft {
  Time submit{};
  std::int32_t priority = 0;
  bool barrier = false;
  std::size_t row = 0;  // of the table
};

std::vector<Draft> in_random_order(std::uint64_t seed) {
  std::vector<Draft> jobs;
  for (std::size_t row = 0; row < kEspTypes.size(); ++row) {
    jobs.insert(jobs.end(), static_cast<std::size_t>(kEspTypes[row].count), Draft{.row = row});
  }
  Draws draws = draws_of(seed, EspDraw::order);
  for (std::size_t left = jobs.size(); left > 1; --left) {  // Fisher and Yates
    std::swap(jobs[left - 1], jobs[draws.below(left)]);
  }
  return jobs;
}

// Which of so many jobs are a share of them: the first of a random order, so that a larger share
// has all of a smaller one.
std::vector<bool> drawn_jobs(const Decimal& share, std::size_t jobs, std::uint64_t seed) {
  std::vector<std::size_t> order(jobs);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Draws draws = draws_of(seed, EspDraw::malleable);
  for (std::size_t left = jobs; left > 1; --left) {  // Fisher and Yates
    std::swap(order[left - 1], order[draws.below(left)]);
  }
  const Wide wanted = (parts(share, static_cast<std::int64_t>(jobs)) + kParts / 2) / kParts;
  std::vector<bool> are_drawn(jobs);
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted); ++i) are_drawn[order[i]] = true;
  return are_drawn;
}

// Three blocks, ten minutes apart: the first one is twice as large as the machine, the others have
// as many jobs as each other.
void submit_in_blocks(const EspModel& model, std::span<Draft> jobs) {
  constexpr Duration kApart = whole_seconds(600);
  std::size_t first = 0;
  for (std::int64_t size = 0; first < jobs.size() && size < 2 * std::int64_t{model.nodes};
       ++first) {
    size += esp_size(model, kEspTypes[jobs[first].row]);
  }
  const std::size_t second = first + (jobs.size() - first + 1) / 2;
  for (std::size_t i = first; i < jobs.size(); ++i) {
    jobs[i].submit = Time{i < second ? kApart : 2 * kApart};
  }
}

// The time that the jobs would take if no node were ever idle.
double ideal_s(const EspModel& model) {
  double work = 0;
  for (const EspType& type : kEspTypes) {
    work += static_cast<double>(type.count * type.runtime_s) * esp_size(model, type);
  }
  return work / model.nodes;
}

void submit(const EspModel& model, std::vector<Draft>& jobs) {
  using Mode = EspModel::Mode;
  if (model.mode == Mode::uniform30) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].submit = Time{static_cast<std::int64_t>(i) * model.gap};
    }
    return;
  }
  if (model.mode == Mode::esp1_throughput) {
    submit_in_blocks(model, jobs);
    return;
  }
  // The two largest jobs come by themselves.
  constexpr std::size_t kLargest = kEspTypes.size() - 1;
  const auto middle = std::stable_partition(jobs.begin(), jobs.end(),
                                            [](const Draft& job) { return job.row != kLargest; });
  const std::span<Draft> others(jobs.begin(), middle), largest_two(middle, jobs.end());
  for (Draft& job : largest_two) {
    job.priority = 1;
    job.barrier = is_barrier(model);
  }
  if (model.mode == Mode::esp2) {
    constexpr std::size_t kAtOnce = 50;
    constexpr Duration kLater = whole_seconds(1800);
    for (std::size_t i = kAtOnce; i < others.size(); ++i) {
      others[i].submit = Time{static_cast<std::int64_t>(i + 1 - kAtOnce) * model.gap};
    }
    for (Draft& job : largest_two) job.submit = others.back().submit + kLater;
    return;
  }
  // The first one not before 10 % of the test, the second one over before 90 %.
  submit_in_blocks(model, others);
  double when = 0;
  for (Draft& job : largest_two) {
    when += 0.25;
    job.submit = Time{whole_seconds(static_cast<std::int64_t>(when * ideal_s(model)))};
  }
  std::ranges::stable_sort(jobs, {}, &Draft::submit);
}

}  // namespace

std::int64_t esp_jobs(EspTypeSet types) {
  std::int64_t jobs = 0;
  for (std::size_t row = 0; row < kEspTypes.size(); ++row) {
    if ((types & bit(row)) != 0) jobs += kEspTypes[row].count;
  }
  return jobs;
}

std::string to_letters(EspTypeSet types) {
  std::string letters;
  for (std::size_t row = 0; row < kEspTypes.size(); ++row) {
    if ((types & bit(row)) != 0) letters += kEspTypes[row].letter;
  }
  return letters;
}

Nodes parse_esp_unit(std::string_view text) {
  if (text == "core") return 0;
  constexpr std::string_view kNode = "node:";
  const auto cores =
      text.starts_with(kNode) ? parse_number<Nodes>(text.substr(kNode.size())) : std::nullopt;
  if (!cores || *cores == 0) {
    throw InputError({.field = "unit"}, fmt::format("there is no '{}'", text),
                     "use core, or node:PPN with PPN cores on each host");
  }
  return *cores;
}

EspTypes parse_esp_types(std::string_view field, std::string_view text) {
  if (text == "none") return {};
  if (text == "all") return {.named = kAllEspTypes};
  if (const auto share = Decimal::parse(text)) {
    if (Decimal(0) <= *share && *share <= Decimal(1)) return {.share = *share};
  } else {
    EspTypes types;
    for (const char letter : text) {
      const auto type = std::ranges::find(kEspTypes, letter, &EspType::letter);
      if (type == kEspTypes.end()) break;
      types.named |= bit(static_cast<std::size_t>(type - kEspTypes.begin()));
    }
    if (to_letters(types.named).size() == text.size()) return types;
  }
  throw InputError({.field = std::string(field)},
                   fmt::format("'{}' is neither a share from 0 to 1 nor types, each once", text),
                   "write 0.4, FGH (of A to M and Z), none or all");
}

Nodes esp_size(const EspModel& model, const EspType& type) {
  const std::int64_t amount = type.fraction * model.nodes;
  const Nodes size = rounded(rounds_up(model), amount, kWhole);
  const Nodes host = model.cores_per_host;
  if (host == 0 || size <= host) return size;
  return rounded(rounds_up(model), amount, kWhole * host) * host;
}

std::int64_t esp_evolving_runtime_s(const EspType& type) {
  constexpr std::int64_t kCores = 128, kMore = 4;
  const auto cores = std::int64_t{rounded(true, type.fraction * kCores, kWhole)};
  return type.runtime_s * cores / (cores + kMore);
}

EspSets esp_sets(const EspModel& model, std::uint64_t seed) {
  const EspTypeSet evolving = draw(evolving_choices(model), draws_of(seed, EspDraw::evolving));
  return {draw(choices(model, model.malleable, evolving), draws_of(seed, EspDraw::malleable)),
          evolving};
}

std::string esp_remark(const EspModel& model) {
  check(model);
  evolving_choices(model);
  switch (model.mode) {
    case EspModel::Mode::uniform30:
    case EspModel::Mode::esp1_throughput:
      return "";
    case EspModel::Mode::esp2:
      if (is_barrier(model)) return "";
      return "esp2: the two jobs of type Z have the highest priority. That nothing else starts "
             "while one waits is up to the policy: with fcfs it is so, policies that backfill may "
             "start jobs that do not delay it";
    case EspModel::Mode::esp1_multimode:
      return "esp1_multimode: the two jobs of type Z have the highest priority and come after 1/4 "
             "and 1/2 of the ideal time. A run counts if the first one is submitted after 10 % of "
             "it (premium_from) and the second one ends before 90 % (premium_until). There is no "
             "shutdown and reboot";
  }
  return "";
}

Workload generate_esp(const EspModel& model, std::uint64_t seed) {
  check(model);
  const EspSets sets = esp_sets(model, seed);
  Workload workload;
  workload.name = "esp";
  if (sets.malleable != 0) workload.name += " malleable=" + to_letters(sets.malleable);
  if (sets.evolving != 0) workload.name += " evolving=" + to_letters(sets.evolving);
  std::vector<Draft> drafts = in_random_order(seed);
  submit(model, drafts);
  std::vector<bool> are_drawn(drafts.size());
  if (model.pick == EspModel::Pick::jobs && model.malleable.share) {
    are_drawn = drawn_jobs(*model.malleable.share, drafts.size(), seed);
    workload.name += " malleable=" + to_text(*model.malleable.share) + " of the jobs";
  }
  for (const Draft& draft : drafts) {
    const EspType& type = kEspTypes[draft.row];
    const Nodes size = esp_size(model, type);
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = workload.jobs.size();
    job.submit = draft.submit;
    job.runtime = whole_seconds(type.runtime_s);
    job.walltime = whole_seconds(type.runtime_s * 3 / 2);
    job.nodes = size;
    job.user = static_cast<std::uint32_t>(draft.row + 1);
    job.group = 1;
    const bool malleable =
        (sets.malleable & bit(draft.row)) != 0 || are_drawn[workload.jobs.size() - 1];
    const bool evolving = (sets.evolving & bit(draft.row)) != 0;
    if (!malleable && !evolving && draft.priority == 0) continue;

    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    AdaptiveJob& more = workload.adaptive.emplace_back();
    more.priority = draft.priority;
    more.barrier = draft.barrier;
    more.size = exactly(size);
    more.type = malleable ? (evolving ? JobType::adaptive : JobType::malleable)
                          : (evolving ? JobType::evolving : JobType::rigid);
    if (evolving) {
      const Nodes extra = std::min(asked(model), model.nodes - size);
      more.size.max = size + extra;
      more.steps = requests(model, type, size, extra);
    }
    if (malleable && model.most_serial > 0) {
      Draws draws(seed, Stream::workload,
                  mixed(static_cast<std::uint64_t>(EspDraw::serial)) ^ job.name);
      const double serial = draws.uniform(model.least_serial, model.most_serial);
      more.speedup = more.believed.speedup = {Speedup::Kind::amdahl, serial};
    }
    if (malleable) {
      more.size.max = std::max(more.size.max, largest(model, size));
      const SizeConstraint constraint = constraint_of(model, type);
      more.believed.constraint = constraint;
      more.size.max = std::max(constraint.at_most(more.size.max), size);
      if (model.min == EspModel::Min::constraint) {
        more.size.min = std::min(constraint.at_least(1), size);
      }
      if (const Nodes by = stride(model, size); by > 1) {
        more.believed.constraint = {SizeConstraint::Kind::multiple, by};
      }
    }
  }
  return workload;
}

}  // namespace ductile
