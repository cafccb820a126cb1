#include "live/check.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "live/journal.hpp"
#include "live/mark.hpp"
#include "live/snapshots.hpp"

namespace ductile {
namespace {

/// What is to be done about what is damaged, if a controller begins with the record after this one.
const char* remedy_of(const CheckedJournal::Damage& damage, std::uint64_t record) {
  using Needs = CheckedJournal::Needs;
  switch (damage.needs) {
    case Needs::start:
      break;
    case Needs::fold:
      if (damage.record > record) break;
      return "  a start does not need it; only questions about its job and `ductile replay` fail";
    case Needs::questions:
      return "  a start does not need it; only questions about this job fail";
    case Needs::nobody:
      return "  nothing is to be done: a start uses another snapshot, or all records";
  }
  return "  go on with a copy of the journal from before: `ductile serve --restored`";
}

}  // namespace

bool check_state(const std::string& folder, std::ostream& out) {
  const std::string path = folder + "/journal.db", mark = folder + "/journal.mark";
  if (!is_journal(path)) {
    throw InputError({path}, "there is no journal", "give the --state folder of a controller");
  }
  // The mark first: a controller at work writes it after the journal.
  bool is_hurt = false;
  const std::optional<Promise> told = Mark::read(mark, is_hurt);
  const CheckedJournal journal = check_journal(path);
  bool is_sound = journal.damages.empty();
  std::vector<std::string> of_snapshots;
  std::uint64_t record = 0;  // with which a start begins
  for (const Snapshot& snapshot : journal.snapshots) {
    of_snapshots.push_back(damage_of(snapshot, folder));
    if (of_snapshots.back().empty()) record = std::max(record, snapshot.record);
  }
  for (std::size_t i = 0; i < journal.damages.size(); ++i) {
    const CheckedJournal::Damage& damage = journal.damages[i];
    out << "journal.db: damaged: " << damage.what << '\n';
    const std::string_view remedy = remedy_of(damage, record);
    const bool is_said_below =
        i + 1 < journal.damages.size() && remedy == remedy_of(journal.damages[i + 1], record);
    if (!is_said_below) out << remedy << '\n';
  }
  if (is_sound) {
    out << fmt::format("journal.db: sound; {} rows, {} transactions\n", journal.rows,
                       journal.has.commits);
  }

  const std::string broken = broken_promise(journal.has, told);
  if (journal.has.journal.empty()) {
    out << "journal.mark: the journal cannot be compared with it\n";
  } else if (!broken.empty()) {
    out << "journal.mark: " << broken << "\n  " << kRestore << '\n';
    is_sound = false;
  } else if (!told) {
    out << "journal.mark: there is none yet\n";
  } else if (is_hurt) {
    out << "journal.mark: one of its two slots is damaged; the other one is used\n"
           "  nothing is to be done: the controller writes it anew\n";
    is_sound = false;
  } else {
    out << "journal.mark: sound\n";
  }

  for (std::size_t i = 0; i < of_snapshots.size(); ++i) {
    const Snapshot& snapshot = journal.snapshots[i];
    const std::string& damage = of_snapshots[i];
    // A controller at work may have removed it meanwhile.
    const auto is_kept = [&] {
      const auto kept = Journal(path, Journal::Use::read).snapshots();
      return std::ranges::find(kept, snapshot.record, &Snapshot::record) != kept.end();
    };
    if (damage.empty()) {
      out << snapshot.file << ": sound\n";
    } else if (is_kept()) {
      out << fmt::format("{}: damaged: {}\n", snapshot.file, damage)
          << "  nothing is to be done: a start uses the other one, or all records\n";
      is_sound = false;
    }
  }
  if (is_sound) out << kAllIsSound;
  return is_sound;
}

}  // namespace ductile
