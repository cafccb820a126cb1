// Malleable MPI programs in C++20: what <ductile/app.h> offers, with owners and spans. No
// exceptions are thrown; a wrong call says on stderr what is wrong with it, and returns false where
// it returns something.
//
//   ductile::app::Job job(argc, argv);
//   int step = 0;
//   ductile::app::Block<double> u(job, "u", n, 1), next(job, "next", n, 1);
//   job.replicate("step", step);
//   if (job.begin()) { initial values in u.own(); }
//   for (; step < steps; ++step) {
//     if (job.must_leave()) return 0;
//     ... u.own() and u.with_halo() ...
//     swap(u, next);
//   }
//
// docs/guide/malleable-mpi.md is the guide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ductile/app.h>

namespace ductile::app {

/// This program as a job: MPI is there while it lives. One per process, before all that belongs to
/// it.
class Job {
 public:
  Job(int& argc, char**& argv) : is_joining_(ductile_init(&argc, &argv) == DUCTILE_JOINING) {
    MPI_Comm_rank(comm(), &rank_);
    MPI_Comm_size(comm(), &size_);
  }
  ~Job() { ductile_finalize(); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  MPI_Comm comm() const { return ductile_comm(); }
  int rank() const { return rank_; }
  int size() const { return size_; }
  int generation() const { return ductile_generation(); }
  /// Does this process take its data from an old generation?
  bool is_joining() const { return is_joining_; }

  /// The numbers of processes that the program can have, as ductile_sizes(); 0: no maximum.
  bool sizes(int minimum, int maximum = 0, const char* constraint = "any") const {
    return ductile_sizes(minimum, maximum, constraint) == 0;
  }

  // ---- Data: the same in every generation, in the same order ----

  /// The same on every process.
  template <class Value>
  bool replicate(const char* name, Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>, "it goes over byte by byte");
    return ductile_add_replicated(name, &value, sizeof value) == 0;
  }
  template <class Value>
  bool replicate(const char* name, std::span<Value> values) {
    static_assert(std::is_trivially_copyable_v<Value>, "they go over byte by byte");
    return ductile_add_replicated(name, values.data(), values.size_bytes()) == 0;
  }
  /// What only the program can distribute, as ductile_add_packed(). `pack(to, size)` gives what a
  /// new process gets, something like a std::span that stays valid until the next call;
  /// `unpack(from, size, std::span<const Value>)` takes it. Both live as long as the job.
  template <class Value, class Pack, class Unpack>
  bool pack(const char* name, Pack& pack, Unpack& unpack) {
    static_assert(std::is_trivially_copyable_v<Value>, "they go over byte by byte");
    struct Both {
      Pack* pack;
      Unpack* unpack;
    };
    const auto both = std::make_shared<Both>(Both{&pack, &unpack});
    packed_.push_back(both);
    return ductile_add_packed(
               name,
               [](void* user, int to, int size, const void** data, std::size_t* bytes) {
                 const std::span<const Value> given = (*static_cast<Both*>(user)->pack)(to, size);
                 *data = given.data();
                 *bytes = given.size_bytes();
                 return 0;
               },
               [](void* user, int from, int size, const void* data, std::size_t bytes) {
                 // The bytes may lie anywhere.
                 std::vector<Value> values(bytes / sizeof(Value));
                 if (bytes > 0) std::memcpy(values.data(), data, values.size() * sizeof(Value));
                 (*static_cast<Both*>(user)->unpack)(from, size, std::span<const Value>(values));
                 return 0;
               },
               both.get()) == 0;
  }

  /// When all data is registered: takes it from the old generation. True if there is none, and the
  /// program begins.
  bool begin() {
    ductile_join();
    return !is_joining_;
  }

  // ---- Resizing ----

  /// The scheduling point. True if a new generation has taken over: leave main().
  bool must_leave() { return ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE; }
  /// In its place, for programs that may postpone or refuse: is there a resize? If so, call one of
  /// adapt(), postpone() and refuse().
  bool is_asked() { return ductile_probe() == DUCTILE_ADAPT; }
  /// True if this process must leave.
  bool adapt() { return ductile_adapt() == DUCTILE_LEAVE; }
  bool postpone(int probes) { return ductile_postpone(probes) == 0; }
  bool refuse(const char* reason) { return ductile_refuse(reason) == 0; }

  /// An evolving program asks, as ductile_request().
  bool request(int at_least, int preferred) { return ductile_request(at_least, preferred) == 0; }
  /// On rank 0 what came instead of a resize: -1 nothing so far, 0 no, or a size.
  int offer() { return ductile_offer(); }

 private:
  bool is_joining_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::shared_ptr<void>> packed_{};
};

/// A distributed array that goes over: this process's elements, at their places. Lives as long as
/// the job, and stays where it is.
template <class Value>
class Distributed {
  static_assert(std::is_trivially_copyable_v<Value>, "elements go over byte by byte");

 public:
  Distributed(const Distributed&) = delete;
  Distributed& operator=(const Distributed&) = delete;

  /// This process's elements.
  std::span<Value> own() { return {data() + halo_, count_}; }
  std::span<const Value> own() const { return {data() + halo_, count_}; }
  std::size_t size() const { return count_; }
  Value& operator[](std::size_t i) { return data()[halo_ + i]; }
  const Value& operator[](std::size_t i) const { return data()[halo_ + i]; }

  /// Exchanges the elements of two arrays of the same shape, not where they are registered.
  friend void swap(Distributed& left, Distributed& right) noexcept {
    std::swap(left.values_, right.values_);
    std::swap(left.place_, right.place_);
  }

 protected:
  Distributed(std::int64_t count, std::int64_t halo)
      : count_(static_cast<std::size_t>(count)),
        halo_(static_cast<std::size_t>(halo)),
        values_(std::make_unique<Value[]>(count_ + 2 * halo_)),
        place_(values_.get()) {}

  Value* data() const { return values_.get(); }
  void** place() { return &place_; }

  std::size_t count_;
  std::size_t halo_;

 private:
  std::unique_ptr<Value[]> values_;
  void* place_;  // of values_, as the library reads it
};

/// Process r of n holds elements [N r/n, N (r+1)/n), with `halo` ghost elements on either side.
template <class Value>
class Block : public Distributed<Value> {
 public:
  Block(const Job& job, const char* name, std::int64_t elements, std::int64_t halo = 0)
      : Distributed<Value>(end_of(job, elements) - begin_of(job, elements), halo),
        begin_(begin_of(job, elements)) {
    ductile_add_block(name, this->place(), sizeof(Value), elements, halo);
  }

  /// The number of the first own element.
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return begin_ + static_cast<std::int64_t>(this->size()); }
  /// The ghosts before the own elements, these, and the ghosts behind them.
  std::span<Value> with_halo() { return {this->data(), this->count_ + 2 * this->halo_}; }

 private:
  static std::int64_t begin_of(const Job& job, std::int64_t elements) {
    std::int64_t begin = 0, end = 0;
    ductile_block(elements, job.rank(), job.size(), &begin, &end);
    return begin;
  }
  static std::int64_t end_of(const Job& job, std::int64_t elements) {
    std::int64_t begin = 0, end = 0;
    ductile_block(elements, job.rank(), job.size(), &begin, &end);
    return end;
  }

  std::int64_t begin_;
};

/// Dealt out in blocks of `block` elements: process r of n holds blocks r, r+n, r+2n, ...
template <class Value>
class Cyclic : public Distributed<Value> {
 public:
  Cyclic(const Job& job, const char* name, std::int64_t elements, std::int64_t block = 1)
      : Distributed<Value>(ductile_cyclic_count(elements, block, job.rank(), job.size()), 0) {
    ductile_add_cyclic(name, this->place(), sizeof(Value), elements, block);
  }
};

}  // namespace ductile::app
