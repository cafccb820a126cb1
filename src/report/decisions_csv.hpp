// decisions.csv: what the scheduler decided, and why.
#pragma once

#include <filesystem>

#include "report/output_file.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// One row for each decision, in order (docs/formats/decisions.csv.md).
class DecisionsCsv final : public Observer {
 public:
  DecisionsCsv(const std::filesystem::path& path, const Workload& workload);

  void on_begin(const Core& core) override;
  void on_decision(Time now, const Decision& decision, const Core& core) override;

  void commit() { file_.commit(); }

 private:
  OutputFile file_;
  const Workload& workload_;
  bool has_steps_ = false;  // of frequency, to be told
};

}  // namespace ductile
