// A Jacobi stencil in Charm++, unchanged for Ductile: a plate in strips of rows, each a chare that
// waits for its two neighbours in every iteration and for all at steps of load balancing, which is
// where Charm++ shrinks and expands. What it prints is exact whatever processors it had: a sum of
// the bits of all values.
//
//   charmc stencil.ci && charmc -O2 -language charm++ -module CommonLBs stencil.cpp -o stencil
//   ductile run --kind charm -n 2 --max 4 -- ./charmrun ./stencil STRIPS ROWS COLUMNS ITERATIONS
//   PERIOD +balancer GreedyLB
//
// From Charm++ 7.0 on GreedyLB does not know that processors are to go; even_lb.cpp does.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "stencil.decl.h"

/*readonly*/ int strips, rows, columns, iterations, period;

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* given) {
    if (given->argc < 6) CkAbort("stencil STRIPS ROWS COLUMNS ITERATIONS PERIOD");
    strips = std::atoi(given->argv[1]);
    rows = std::atoi(given->argv[2]);  // of each strip
    columns = std::atoi(given->argv[3]);
    iterations = std::atoi(given->argv[4]);
    period = std::atoi(given->argv[5]);
    delete given;
    CProxy_Strip::ckNew(strips);
  }
  explicit Main(CkMigrateMessage* message) : CBase_Main(message) {}
  void pup(PUP::er& /*p*/) {}
};

class Strip : public CBase_Strip {
 public:
  Strip() : iteration_(0), sides_(0) {
    usesAtSync = true;
    now_.assign(std::size_t(rows + 2) * columns, 0.0);
    next_ = now_;
    for (int row = 1; row <= rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        const long place = (long(thisIndex) * rows + row) * columns + column;
        at(now_, row)[column] = double(place * 7919 % 10007) / 10007;
      }
    }
    // The edges of the plate stay as they are, at 0.
    send();
  }
  explicit Strip(CkMigrateMessage* /*message*/) : iteration_(0), sides_(0) {}

  void pup(PUP::er& p) {
    p | iteration_;
    p | sides_;
    p | is_at_step_;
    p | now_;
    p | next_;
    p | early_;
  }

  /// A neighbour may be one iteration ahead, no more.
  void edge(int iteration, bool is_above, int count, const double* values) {
    if (iteration != iteration_) {
      early_.push_back(is_above ? 1 : 0);
      early_.insert(early_.end(), values, values + count);
      return;
    }
    take(is_above, values);
    if (!is_at_step_) compute();  // a neighbour may have left the step already
  }

  void ResumeFromSync() override {
    is_at_step_ = false;
    send();
    compute();
  }

  void end(long sum) {
    CkPrintf("%d iterations: %lx\n", iterations, static_cast<unsigned long>(sum));
    CkExit();
  }

 private:
  double* at(std::vector<double>& values, int row) const {
    return &values[std::size_t(row) * columns];
  }

  void send() {
    if (thisIndex > 0) thisProxy[thisIndex - 1].edge(iteration_, false, columns, at(now_, 1));
    if (thisIndex + 1 < strips)
      thisProxy[thisIndex + 1].edge(iteration_, true, columns, at(now_, rows));
  }

  void take(bool is_above, const double* values) {
    std::memcpy(at(now_, is_above ? 0 : rows + 1), values, sizeof(double) * columns);
    ++sides_;
  }

  /// As far as the neighbours have come.
  void compute() {
    const int needed = (thisIndex > 0) + (thisIndex + 1 < strips);
    while (sides_ == needed) {
      for (int row = 1; row <= rows; ++row) {
        const double *above = at(now_, row - 1), *here = at(now_, row), *below = at(now_, row + 1);
        double* const to = at(next_, row);
        for (int column = 0; column < columns; ++column) {
          const double left = column > 0 ? here[column - 1] : 0,
                       right = column + 1 < columns ? here[column + 1] : 0;
          to[column] = (above[column] + below[column] + left + right + here[column]) / 5;
        }
      }
      now_.swap(next_);
      // The edges of the plate.
      if (thisIndex == 0) std::memset(at(now_, 0), 0, sizeof(double) * columns);
      if (thisIndex + 1 == strips) std::memset(at(now_, rows + 1), 0, sizeof(double) * columns);
      sides_ = 0;
      ++iteration_;
      if (iteration_ == iterations) return finish();
      // What has come early is for this iteration.
      const std::vector<double> early = std::move(early_);
      early_.clear();
      for (std::size_t i = 0; i < early.size(); i += columns + 1)
        take(early[i] != 0, &early[i + 1]);
      if (iteration_ % period == 0) {
        is_at_step_ = true;
        return AtSync();
      }
      send();
    }
  }

  void finish() {
    // Each has 40 bits, so that the sum of all fits.
    std::uint64_t bits = 0;
    for (int row = 1; row <= rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        std::uint64_t value = 0;
        std::memcpy(&value, at(now_, row) + column, sizeof value);
        bits = bits * 31 + value;
      }
    }
    long sum = static_cast<long>(bits & 0xffffffffff);
    contribute(sizeof sum, &sum, CkReduction::sum_long,
               CkCallback(CkReductionTarget(Strip, end), thisProxy[0]));
  }

  int iteration_, sides_;
  bool is_at_step_ = false;
  std::vector<double> now_, next_, early_;
};

#include "stencil.def.h"
