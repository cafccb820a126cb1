// Any bytes, read as a resizes.csv: rows that hold together, or an InputError that names the file.
//
// Readers: src/report/resizes_csv.cpp src/report/csv_reader.cpp
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "memory_file.hpp"
#include "report/resizes_csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ductile;
  const MemoryFile file({reinterpret_cast<const char*>(data), size});
  try {
    for (const ResizeRow& row : read_resizes(file.path())) {
      if (row.until && *row.until < row.at) std::abort();
      if (row.reason.empty() || (row.cost && *row.cost < Duration{})) std::abort();
    }
  } catch (const InputError& error) {
    if (!std::string_view(error.what()).starts_with(file.path())) std::abort();
  }
  return 0;
}
