#include "cli/retold_run.hpp"

#include <vector>

#include "live/journal.hpp"
#include "report/run_folder.hpp"
#include "simulation/retelling.hpp"
#include "simulation/summary_observer.hpp"

namespace ductile {

RetoldRun write_retold_run(std::istream& log, const std::string& name,
                           const std::filesystem::path& folder, const PolicyMaker& make) {
  LogInput input = input_of_log(log, name);
  Workload& workload = input.workload;
  if (is_journal(name)) workload.accounts = Journal(name, Journal::Use::read).accounts();
  RunFolder files(folder, workload);
  const Duration grace = SimulationSettings{}.violation_grace;
  SummaryObserver figures(workload, {.lines = input.corridor, .grace = grace});
  std::vector<Observer*> observers{&figures};
  files.add_observers(observers);
  const Retold run = retell(log, name, make, workload, observers);
  const Summary summary = figures.summary(workload, run.settings, run.counts);
  files.finish(summary);
  files.write_summary(summary);
  return {run.replayed, summary};
}

}  // namespace ductile
