// The Slurm of this site, by libslurm. What differs between versions of Slurm is in libslurm.cpp
// and nowhere else; it is translated against the site's own slurm/slurm.h.
//
// libslurm is under the GPL: it is linked into `ductile-slurm` alone.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "slurm/slurm.hpp"

namespace ductile {

class LibSlurm final : public Slurm {
 public:
  /// Reads slurm.conf, by $SLURM_CONF or where Slurm looks for it. Throws SlurmError.
  explicit LibSlurm(std::string partition);
  ~LibSlurm() override;

  SlurmFacts facts() override;
  std::vector<SlurmNode> nodes() override;
  std::optional<std::vector<SlurmJob>> jobs() override;
  void start(const SlurmStart& what) override;
  void hold(std::uint64_t number, Nodes least, Nodes most, const std::vector<std::string>& required,
            const std::string& comment) override;
  void release(std::uint64_t number) override;
  void keep(std::uint64_t number, const std::vector<std::string>& nodes) override;
  void grow(const SlurmJob& job, const std::vector<std::string>& nodes, std::uint64_t id) override;
  void end(std::uint64_t number, bool requeue) override;
  void set_limit(std::uint64_t number, Duration limit) override;
  void split(std::uint64_t array, std::uint32_t task) override;

 private:
  std::string partition_;
  std::time_t jobs_at_ = 0;  // of the last `jobs`, by slurmctld's clock
};

/// "n[1-3],n7" in single names. Empty where it is none.
std::vector<std::string> names_of_nodes(const char* list);

}  // namespace ductile
