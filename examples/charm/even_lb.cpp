// A strategy of load balancing for Charm++ 7.0 and later, where those that come with it no longer
// take orders to shrink and expand: only what is made from CentralLB does. As many chares on each
// of the processors that stay, neighbours together.
//
//   charmc even_lb.ci && charmc -O2 -c even_lb.cpp && charmc -o libmoduleeven_lb.a even_lb.o
//   charmc ... -module even_lb -L.                       and run with +balancer EvenLB
#include <cstddef>
#include <vector>

#include "CentralLB.h"
#include "even_lb.decl.h"

class EvenLB : public CBase_EvenLB {
 public:
  explicit EvenLB(const CkLBOptions& options) : CBase_EvenLB(options) { lbname = "EvenLB"; }
  explicit EvenLB(CkMigrateMessage* message) : CBase_EvenLB(message) { lbname = "EvenLB"; }
  void pup(PUP::er& /*p*/) {}

 private:
  bool QueryBalanceNow(int /*step*/) override { return true; }

  void work(LDStats* stats) override {
    std::vector<int> staying;
    for (std::size_t pe = 0; pe < std::size_t(stats->nprocs()); ++pe) {
      if (stats->procs[pe].available) staying.push_back(static_cast<int>(pe));
    }
    std::size_t count = 0, next = 0;
    for (const auto& object : stats->objData) count += object.migratable;
    for (std::size_t i = 0; i < stats->objData.size(); ++i) {
      if (stats->objData[i].migratable)
        stats->to_proc[i] = staying[next++ * staying.size() / count];
    }
  }
};

void register_even_lb() {
  LBRegisterBalancer<EvenLB>("EvenLB", "as many objects on each processor");
}

#include "even_lb.def.h"
