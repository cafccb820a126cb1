#include "report/corridor_csv.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "base/text.hpp"
#include "report/csv_reader.hpp"
#include "report/output_file.hpp"

namespace ductile {

void write_corridor_csv(const std::filesystem::path& path, std::span<const CorridorLine> corridor) {
  OutputFile file(path);
  std::string& text = file.text();
  text = "time,low_w,high_w\n";
  for (const CorridorLine& line : corridor) {
    append_seconds(text, line.at);
    append_number(text += ',', line.low_w);
    text += ',';
    if (std::isfinite(line.high_w)) append_number(text, line.high_w);
    text += '\n';
  }
  file.commit();
}

std::vector<CorridorLine> read_corridor_csv(const std::filesystem::path& path) {
  CsvReader rows(path);
  const std::size_t time = rows.column("time"), low = rows.column("low_w"),
                    high = rows.column("high_w");
  std::vector<CorridorLine> corridor;
  while (rows.next()) {
    corridor.push_back({rows.time(time), rows.number<double>(low),
                        rows.text(high).empty() ? std::numeric_limits<double>::infinity()
                                                : rows.number<double>(high)});
  }
  return corridor;
}

}  // namespace ductile
