#include "workload/elastisim_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using Type = ElastisimTask::Type;

// In SimGrid's model of parallel tasks a flow has at most this many bytes under way there and back.
constexpr double kWindowBytes = 4194304;
constexpr double kMostTaskSeconds = 1e12;
constexpr double kSameTime = 1e-9;  // of an iteration: what is nearer is rounding
// Of what an iteration sends so much is followed one by one; tasks that are repeated more often
// send evenly.
constexpr std::size_t kMostSent = 200;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The most of anything that one way has to carry.
struct Traffic {
  double sent = 0, received = 0, both = 0;  // by one node
  double all = 0;                           // by all together
  double flow = 0;                          // from one to one
};

Traffic traffic_of(const MatrixPattern& pattern, double bytes, double n) {
  using Kind = MatrixPattern::Kind;
  Traffic traffic;
  if (n < 2) return traffic;
  const auto set = [&](double sent, double received, double both, double all, double flow) {
    traffic = {sent, received, both, all, flow};
  };
  switch (pattern.kind) {
    case Kind::all_to_all:
      set(bytes / n, bytes / n, 2 * bytes / n, bytes, bytes / (n * (n - 1)));
      break;
    case Kind::gather:
    case Kind::scatter: {
      const double one = bytes / n, root = one * (n - 1);
      const bool gather = pattern.kind == Kind::gather;
      set(gather ? one : root, gather ? root : one, root, root, one);
      break;
    }
    case Kind::master_worker: {
      const double one = 2 * bytes / (n - 1);
      set(2 * bytes, 2 * bytes, 4 * bytes, 4 * bytes, one);
      break;
    }
    case Kind::ring:  // two nodes are each other's neighbours on both sides
      set(bytes / n, bytes / n, 2 * bytes / n, bytes, bytes / (n == 2 ? n : 2 * n));
      break;
    case Kind::ring_clockwise:
    case Kind::ring_counter_clockwise:
      set(bytes / n, bytes / n, 2 * bytes / n, bytes, bytes / n);
      break;
    case Kind::matrix: {
      const auto nodes = static_cast<std::size_t>(n);
      std::vector<double> sent(nodes), received(nodes);
      for (std::size_t i = 0; i < nodes; ++i) {
        for (std::size_t j = 0; j < nodes; ++j) {
          if (i == j) continue;  // stays on the node
          const double one = pattern.values[i * nodes + j];
          sent[i] += one;
          received[j] += one;
          traffic.all += one;
          traffic.flow = std::max(traffic.flow, one);
        }
      }
      for (std::size_t i = 0; i < nodes; ++i) {
        traffic.sent = std::max(traffic.sent, sent[i]);
        traffic.received = std::max(traffic.received, received[i]);
        traffic.both = std::max(traffic.both, sent[i] + received[i]);
      }
      break;
    }
  }
  return traffic;
}

// Each rank sends an equal part of what it has to all, itself included. `mine`: the most that one
// has.
Traffic striped(double mine, double least, double all, double n) {
  if (n < 2) return {};
  const double away = (n - 1) / n;
  const auto received = [&](double its) { return (all - its) / n; };
  return {.sent = mine * away,
          .received = received(least),
          .both = std::max(mine * away + received(mine), least * away + received(least)),
          .all = all * away,
          .flow = mine / n};
}

double over(const NetworkPath& path, double all, double flow) {
  return (path.shared ? all : flow) / path.bytes_per_s;
}

// Ranks that stand for all: any two of the others do the same as one of these.
struct Ranks {
  std::vector<double> now;         // how far each is
  std::vector<double> background;  // when what it left running is done

  void meet() { std::ranges::fill(now, *std::ranges::max_element(now)); }
  void wait_for_background() {
    for (std::size_t r = 0; r < now.size(); ++r) now[r] = std::max(now[r], background[r]);
  }
};

// Links that are shared, as places in `shared_links`.
constexpr std::uint32_t kBackbone = 0;
std::uint32_t link_of(std::size_t host, bool reads) {
  return static_cast<std::uint32_t>(2 * host + (reads ? 1 : 2));
}

// What ranks send over them, and when.
struct Sent {
  double from = 0, to = 0;
  Flow flow;
  std::size_t rank = 0;
  bool is_beside = false;  // of what follows, so that it may take longer

  // As slowly as is in time.
  void last_until(double end) {
    if (end <= to) return;
    flow.most *= (to - from) / (end - from);
    to = end;
  }
};

class TaskTimer {
 public:
  TaskTimer(ElastisimShape& shape, const SimgridMachine& machine)
      : shape_(shape), machine_(machine), n_(shape.nodes) {}

  void run(const std::vector<ElastisimTask>& tasks, Ranks& ranks) {
    for (const ElastisimTask& task : tasks) {
      const double times =
          std::trunc(value(task, task.iterations, -kMostElastisimIterations, "iterations"));
      repeat(times, ranks, [&] { once(task, ranks); });
    }
  }

  // What is sent beside something else since the first of `sent` is waited for.
  void wait_for_background(Ranks& ranks, std::size_t first) {
    ranks.wait_for_background();
    for (Sent& sent : std::span(sent_).subspan(first)) {
      if (std::exchange(sent.is_beside, false)) sent.last_until(ranks.now[sent.rank]);
    }
  }

  // Of an iteration that takes so long.
  std::vector<Stretch> stretches(double time_s) const {
    std::vector<double> ends{time_s};
    for (const Sent& sent : sent_) {
      for (const double end : {sent.from, sent.to}) {
        if (end > 0 && end < time_s) ends.push_back(end);
      }
    }
    std::ranges::sort(ends);
    std::vector<Stretch> result;
    double begin = 0;
    for (const double end : ends) {
      if (end - begin <= kSameTime * time_s) continue;
      const double middle = begin + (end - begin) / 2;
      Stretch stretch{end / time_s};
      for (const Sent& sent : sent_) {
        if (sent.from <= middle && middle < sent.to) add(stretch.flows, sent.flow);
      }
      if (!result.empty() && result.back().flows == stretch.flows) result.pop_back();
      result.push_back(std::move(stretch));
      begin = end;
    }
    if (!result.empty()) result.back().until = 1;
    const bool sends =
        std::ranges::any_of(result, [](const Stretch& stretch) { return !stretch.flows.empty(); });
    return sends ? result : std::vector<Stretch>();
  }

 private:
  static void add(std::vector<Flow>& flows, const Flow& more) {
    for (Flow& flow : flows) {
      if (flow.most != more.most || flow.uses != more.uses) continue;
      flow.members += more.members;
      return;
    }
    flows.push_back(more);
  }

  // So many ranks, for whom this one stands, send so many bytes each.
  void send(double from, double to, std::size_t rank, double members, double bytes,
            std::vector<LinkUse> uses, bool is_beside = false) {
    if (to <= from || bytes <= 0 || uses.empty()) return;
    sent_.push_back({from, to, {members, bytes / (to - from), std::move(uses)}, rank, is_beside});
  }
  // The root for itself, another odd one, another even one for those like it.
  double members(const Ranks& ranks, std::size_t rank) const {
    if (rank == 0 || double(ranks.now.size()) == n_) return 1;
    return rank == 1 ? std::floor(n_ / 2) : std::ceil(n_ / 2) - 1;
  }

  // From the second time on all ranks gain the same each time, for if they wait for each other they
  // are as far apart as the time before.
  template <class Body>
  void repeat(double times, Ranks& ranks, const Body& body) {
    if (times < 1) return;
    body();
    if (times < 2) return;
    const Ranks before = ranks;
    const std::size_t first = sent_.size();
    body();
    repeat_sent(times - 2, first, before, ranks);
    for (std::size_t r = 0; r < ranks.now.size(); ++r) {
      ranks.now[r] += (times - 2) * (ranks.now[r] - before.now[r]);
      ranks.background[r] += (times - 2) * (ranks.background[r] - before.background[r]);
    }
  }

  // What was sent from the first of these on is sent so many times more.
  void repeat_sent(double times, std::size_t first, const Ranks& before, const Ranks& after) {
    const std::vector<Sent> once(sent_.begin() + static_cast<std::ptrdiff_t>(first), sent_.end());
    const bool is_much = times * double(once.size()) + double(first) > double(kMostSent);
    for (Sent sent : once) {
      const double gain = after.now[sent.rank] - before.now[sent.rank];
      if (times < 1 || gain <= 0) continue;
      if (is_much) {
        sent.flow.most *= (sent.to - sent.from) / gain;
        sent.from += gain;
        sent.to = sent.from + gain * times;
        sent_.push_back(std::move(sent));
        continue;
      }
      for (double time = 1; time <= times; ++time) {
        Sent again = sent;
        again.from += time * gain;
        again.to += time * gain;
        sent_.push_back(std::move(again));
      }
    }
  }

  double value(const ElastisimTask& task, const Formula& formula, double least,
               const char* what) const {
    const double value = formula.value(shape_.variables);
    if (value < least || value > kMostElastisimAmount) {
      throw InputError(task.place, fmt::format("has {} {} on {} nodes", value, what, shape_.nodes),
                       fmt::format("use {} to {}", least, kMostElastisimAmount));
    }
    return value;
  }

  void need(const ElastisimTask& task, bool there, const char* what) const {
    if (!there) {
      throw InputError(task.place, fmt::format("needs {}, which the platform does not have", what),
                       "add it to the platform");
    }
  }

  // What a rank does of an amount.
  double share(const ElastisimTask& task, double amount, std::size_t rank) const {
    using Kind = VectorPattern::Kind;
    const double even = std::ceil(n_ / 2), odd = std::floor(n_ / 2);
    switch (task.spread.kind) {
      case Kind::all_ranks:
        return amount / n_;
      case Kind::root_only:
        return rank == 0 ? amount : 0;
      case Kind::even_ranks:
        return rank % 2 == 0 ? amount / even : 0;
      case Kind::odd_ranks:
        return rank % 2 == 1 ? amount / odd : 0;
      case Kind::uniform:
        return amount;
      case Kind::vector:
        return task.spread.values[rank];
    }
    return 0;
  }
  // What all ranks do together.
  double total(const ElastisimTask& task, double amount) const {
    using Kind = VectorPattern::Kind;
    if (task.spread.kind == Kind::uniform) return amount * n_;
    if (task.spread.kind == Kind::odd_ranks && n_ < 2) return 0;
    if (task.spread.kind != Kind::vector) return amount;
    return std::accumulate(task.spread.values.begin(), task.spread.values.end(), 0.0);
  }

  // The least and the most that a rank does.
  std::pair<double, double> extremes(const ElastisimTask& task, double amount) const {
    if (task.spread.kind == VectorPattern::Kind::vector) {
      const auto [least, most] = std::ranges::minmax(task.spread.values);
      return {least, most};
    }
    std::pair of{share(task, amount, 0), share(task, amount, 0)};
    for (std::size_t rank = 1; rank < 3 && static_cast<double>(rank) < n_; ++rank) {
      of.first = std::min(of.first, share(task, amount, rank));
      of.second = std::max(of.second, share(task, amount, rank));
    }
    return of;
  }

  // Can all nodes together want more of it than there is? It carries a part of what they send.
  bool is_narrow(const NetworkPath& path, const NetworkPath& link, double part) const {
    return path.shared &&
           (link.shared ? part * machine_.nodes * link.bytes_per_s : kUnlimited) > path.bytes_per_s;
  }

  // Of the way between two nodes.
  double latency() const { return 2 * machine_.link.latency_s + machine_.backbone.latency_s; }

  double network(const ElastisimTask& task, const Traffic& traffic) const {
    if (traffic.flow <= 0) return 0;
    if (!machine_.unknown_network.empty()) {
      throw InputError(
          task.place,
          fmt::format("nodes send each other something, and how long that takes in a {} "
                      "is not known",
                      machine_.unknown_network),
          "give the platform a flat <cluster>, or a FAT_TREE none of whose levels is "
          "narrower than the one below");
    }
    if (is_narrow(machine_.backbone, machine_.link, 1)) shape_.contended.insert(&task);
    const double mine =
        machine_.both_ways ? std::max(traffic.sent, traffic.received) : traffic.both;
    return latency() + std::max({over(machine_.link, mine, traffic.flow),
                                 over(machine_.backbone, traffic.all, traffic.flow),
                                 2 * latency() * traffic.flow / kWindowBytes});
  }

  void check_sizes(const ElastisimTask& task) const {
    const auto is = [&](const std::vector<double>& values, double size, const char* what) {
      if (double(values.size()) != size) {
        throw InputError(task.place,
                         fmt::format("its {} has {} numbers for {} nodes", what, values.size(), n_),
                         "such a pattern is for rigid jobs: one number for each rank, or pair");
      }
    };
    if (task.amount && task.spread.kind == VectorPattern::Kind::vector) {
      is(task.spread.values, n_, "vector");
    }
    if (task.bytes && task.sent.kind == MatrixPattern::Kind::matrix) {
      is(task.sent.values, n_ * n_, "matrix");
    }
  }

  void once(const ElastisimTask& task, Ranks& ranks) {
    if (task.synchronized) ranks.meet();
    check_sizes(task);
    if (task.type == Type::sequence) {
      Ranks inner{ranks.now, std::vector<double>(ranks.now.size(), 0)};
      const std::size_t first = sent_.size();
      run(task.tasks, inner);
      wait_for_background(inner, first);
      ranks.now = inner.now;
      return;
    }
    const double amount = task.amount ? value(task, *task.amount, 0, unit(task)) : 0;
    if (task.type == Type::cpu || task.type == Type::gpu) {
      compute(task, amount, ranks);
      return;
    }
    for (std::size_t r = 0; r < ranks.now.size(); ++r) {
      const double done = ranks.now[r] + wait(task, amount, r, ranks);
      if (task.async) {
        ranks.background[r] = std::max(ranks.background[r], done);
      } else {
        ranks.now[r] = done;
      }
    }
  }

  static const char* unit(const ElastisimTask& task) {
    if (task.type == Type::cpu || task.type == Type::gpu) return "flops";
    return task.type == Type::busy_wait || task.type == Type::idle ? "seconds" : "bytes";
  }

  // Computation goes on beside communication, for which the ranks meet.
  void compute(const ElastisimTask& task, double flops, Ranks& ranks) {
    const bool gpu = task.type == Type::gpu;
    if (gpu) need(task, shape_.gpus > 0 && shape_.gpus <= machine_.gpus, "so many GPUs");
    const double speed = gpu ? shape_.gpus * machine_.flops_per_gpu_s : machine_.flops_per_s;
    std::vector<double> busy(ranks.now.size(), 0);
    for (std::size_t r = 0; r < busy.size() && task.amount; ++r) {
      const double mine = share(task, flops, r);
      if (mine > 0) need(task, speed > 0, "speed");
      if (mine > 0) busy[r] = mine / speed;
    }
    double between = 0;  // the nodes' communication
    double all = 0;      // bytes of it
    if (task.bytes) {
      const double bytes = value(task, *task.bytes, 0, "bytes");
      const auto [inside, outside] =
          gpu ? of_gpus(task, bytes) : std::pair(0.0, traffic_of(task.sent, bytes, n_));
      for (double& time : busy) time = std::max(time, inside);
      between = network(task, outside);
      all = outside.all;
    }
    if (task.bytes && task.amount && task.coupled) {
      // One parallel task: all begin together, wait for the network, and end with the slowest.
      const double longest = *std::ranges::max_element(busy);
      ranks.meet();
      const double together = std::max(between, (between > 0 ? latency() : 0) + longest);
      send(ranks.now[0] + latency(), ranks.now[0] + together, 0, 1, all, over_backbone());
      for (double& now : ranks.now) now += together;
      return;
    }
    std::vector<double> done = ranks.now;
    for (std::size_t r = 0; r < done.size(); ++r) done[r] += busy[r];
    if (task.bytes) ranks.meet();
    send(ranks.now[0] + latency(),
         std::max(ranks.now[0] + between, between > 0 ? *std::ranges::min_element(done) : 0), 0, 1,
         all, over_backbone());
    for (std::size_t r = 0; r < done.size(); ++r) {
      ranks.now[r] = std::max(done[r], ranks.now[r] + between);
    }
  }

  // Bytes among GPUs: how long the GPUs of a node need, and what the nodes send each other.
  std::pair<double, Traffic> of_gpus(const ElastisimTask& task, double bytes) const {
    using Kind = MatrixPattern::Kind;
    const double g = shape_.gpus, all = g * n_;
    const bool ring = task.sent.kind == Kind::ring || task.sent.kind == Kind::ring_clockwise ||
                      task.sent.kind == Kind::ring_counter_clockwise;
    if (!ring && task.sent.kind != Kind::all_to_all) {
      throw InputError(task.place, "GPUs do not communicate in this pattern",
                       "use all_to_all, ring, ring_clockwise, ring_counter_clockwise");
    }
    if (g == 1) return {0, traffic_of(task.sent, bytes, n_)};
    const double ways = task.sent.kind == Kind::ring ? 2 : 1;  // neighbours each sends to
    double inside = 0, outside = 0;                            // bytes
    if (ring) {
      const double one = bytes / (all * ways);
      inside = one * ways * (n_ == 1 ? g : g - 1);
      outside = n_ == 1 ? 0 : one * ways * n_;
    } else {
      const double one = bytes / (all * (all - 1));
      inside = all * (g - 1) * one / n_;
      outside = all * (all - g) * one;
    }
    // The busiest pair of GPUs of a node, both ways.
    const Traffic pairs = traffic_of(task.sent, inside, g);
    const double pair = ring && ways == 1 && g > 2 ? pairs.flow : 2 * pairs.flow;
    if (pair > 0) need(task, machine_.gpu_bytes_per_s > 0, "gpu_to_gpu_bw");
    return {pair > 0 ? pair / machine_.gpu_bytes_per_s : 0, traffic_of(task.sent, outside, n_)};
  }

  std::vector<LinkUse> over_backbone() const {
    return is_narrow(machine_.backbone, machine_.link, 1) ? std::vector<LinkUse>{{kBackbone}}
                                                          : std::vector<LinkUse>();
  }

  // How long a rank is busy with files, or waits, from where it is.
  double wait(const ElastisimTask& task, double amount, std::size_t rank, const Ranks& ranks) {
    const double mine = share(task, amount, rank);
    const double all = total(task, amount);
    const bool reads = task.type == Type::pfs_read || task.type == Type::bb_read;
    if (task.type == Type::busy_wait || task.type == Type::idle) return mine;
    if (task.type == Type::bb_read || task.type == Type::bb_write) {
      const double speed =
          reads ? machine_.buffer_read_bytes_per_s : machine_.buffer_write_bytes_per_s;
      need(task, speed > 0, "burst buffers");
      if (!machine_.buffers_striped) return mine / speed;
      if (mine <= 0) return 0;
      const auto [least, most] = extremes(task, amount);
      const double work = machine_.flops_per_striped_byte * all / n_;
      if (work > 0) need(task, machine_.flops_per_s > 0, "speed");
      const Traffic traffic = striped(most, least, all, n_);
      const double between = network(task, traffic);
      const double longest =
          std::max({all / n_ / speed, between, work > 0 ? work / machine_.flops_per_s : 0});
      send(ranks.now[rank] + latency(), ranks.now[rank] + longest, rank, members(ranks, rank),
           between > 0 ? traffic.all / n_ : 0, over_backbone(), task.async);
      return longest;
    }
    need(task, !machine_.file_system.empty(), "a host with pfs_host");
    if (mine <= 0) return 0;
    const auto hosts = static_cast<double>(machine_.file_system.size());
    const NetworkPath none;
    const NetworkPath& link = machine_.files_use_link ? machine_.link : none;
    const NetworkPath& backbone = machine_.files_use_link ? machine_.backbone : none;
    double latency = 0, longest = mine / link.bytes_per_s;
    longest = std::max(longest, over(backbone, all, mine / hosts));
    std::vector<LinkUse> uses;
    if (is_narrow(backbone, link, 1)) uses.push_back({kBackbone});
    for (std::size_t i = 0; i < machine_.file_system.size(); ++i) {
      const FileSystemHost& host = machine_.file_system[i];
      const NetworkPath& path = reads ? host.read : host.write;
      const double there = link.latency_s + backbone.latency_s + path.latency_s;
      if (is_narrow(path, link, 1 / hosts)) uses.push_back({link_of(i, reads), 1 / hosts});
      latency = std::max(latency, there);
      longest = std::max({longest, over(path, all / hosts, mine / hosts),
                          2 * there * (mine / hosts) / kWindowBytes});
    }
    if (!uses.empty()) shape_.contended.insert(&task);
    const double from = ranks.now[rank] + latency;
    send(from, from + longest, rank, members(ranks, rank), mine, std::move(uses), task.async);
    return latency + longest;
  }

  ElastisimShape& shape_;
  const SimgridMachine& machine_;
  double n_;
  std::vector<Sent> sent_;
};

bool has_vectors(const std::vector<ElastisimTask>& tasks) {
  return std::ranges::any_of(tasks, [](const ElastisimTask& task) {
    return task.spread.kind == VectorPattern::Kind::vector || has_vectors(task.tasks);
  });
}

}  // namespace

std::vector<double> shared_links(const SimgridMachine& machine) {
  std::vector<double> links{machine.backbone.bytes_per_s};
  for (const FileSystemHost& host : machine.file_system) {
    links.push_back(host.read.bytes_per_s);
    links.push_back(host.write.bytes_per_s);
  }
  return links;
}

std::uint64_t iterations_of(const ElastisimPhase& phase, const Variables& variables) {
  const double value = std::trunc(phase.iterations.value(variables));
  if (value < 0 || value > kMostElastisimIterations) {
    throw InputError(phase.place, fmt::format("has {} iterations", value),
                     fmt::format("use 0 to {}", kMostElastisimIterations));
  }
  return static_cast<std::uint64_t>(value);
}

double time_of(const ElastisimPhase& phase, ElastisimShape& shape, const SimgridMachine& machine) {
  shape.variables["num_nodes"] = shape.nodes;
  shape.variables["num_gpus_per_node"] = shape.gpus;
  shape.variables["num_gpus"] = static_cast<double>(shape.nodes) * shape.gpus;
  // The root, another odd rank, another even rank; all of them where each has its own number.
  const std::size_t count =
      has_vectors(phase.tasks) ? shape.nodes : std::min<std::size_t>(shape.nodes, 3);
  Ranks ranks{std::vector<double>(count, 0), std::vector<double>(count, 0)};
  TaskTimer timer(shape, machine);
  timer.run(phase.tasks, ranks);
  timer.wait_for_background(ranks, 0);
  const double time_s = *std::ranges::max_element(ranks.now);
  if (!(time_s <= kMostTaskSeconds)) {
    throw InputError(phase.place, fmt::format("takes {} seconds on {} nodes", time_s, shape.nodes),
                     "look at its amounts, and at the platform's speeds and bandwidths");
  }
  if (shape.shares_links) shape.stretches = timer.stretches(time_s);
  return time_s;
}

}  // namespace ductile
