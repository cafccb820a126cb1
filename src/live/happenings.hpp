// What has happened, as a journal has it, for people and programs outside: rows of JSON, by the
// numbers of their records; docs/formats/http.md. Read by others than the controller, while that
// goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/time.hpp"
#include "live/http_request.hpp"
#include "live/journal.hpp"

namespace ductile {

/// The journal as of one commit: made anew to see what came after that. Throws as `Journal` does.
class Happenings {
 public:
  explicit Happenings(const std::string& journal);

  /// Of the journal, and its last record.
  EventPosition end() const { return {id_, last_}; }

  struct Row {
    std::uint64_t record = 0;
    nlohmann::ordered_json row{};
  };
  /// Those of so many records after this one.
  std::vector<Row> after(std::uint64_t record, std::size_t records) const;

  /// Which of them.
  enum class Kind : std::uint8_t { any, decisions, resizes, outages };
  /// The last ones before this record, the newest first. `next`: where to go on; 0: nowhere.
  struct Page {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    std::uint64_t next = 0;
  };
  Page before(std::uint64_t record, std::size_t most, Kind kind) const;

  /// Which nodes a job had since when: rows of `nodelist`, `from_s`, `to_s` (null: still).
  nlohmann::ordered_json allocations_of(std::uint64_t job) const;

 private:
  double wall_s(Time time) const { return to_seconds(time + ahead_); }
  std::optional<nlohmann::ordered_json> row_of(const Journal::Record& record) const;

  Journal journal_;
  std::string id_{};
  std::uint64_t last_ = 0;
  Duration ahead_{};
};

}  // namespace ductile
