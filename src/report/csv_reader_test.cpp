#include "report/csv_reader.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

std::string file_of(const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / "rows.csv";
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

// What the error says behind the name of the file.
std::string error_of(const std::string& text) {
  const std::string path = file_of(text);
  try {
    CsvReader rows(path);
    const std::size_t size = rows.column("size");
    while (rows.next()) {
      (void)rows.number<unsigned>(size);
      (void)rows.time(rows.column("at"));
    }
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(path.size(), what.find(';') - path.size());
  }
  return "";
}

TEST(CsvReader, ReadsRowsByTheNamesOfColumns) {
  CsvReader rows(file_of("at,name,size\n0.5,\"a, \"\"b\"\"\",3\n-1,,0\n"));
  const std::size_t size = rows.column("size"), at = rows.column("at"), name = rows.column("name");
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.number<unsigned>(size), 3U);
  EXPECT_EQ(rows.time(at), Time{Duration{500'000}});
  EXPECT_EQ(rows.text(name), "a, \"b\"");
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.find_time(at), Time{whole_seconds(-1)});
  EXPECT_EQ(rows.find_time(name), std::nullopt);
  EXPECT_FALSE(rows.next());
  EXPECT_FALSE(rows.find_column("other"));
}

TEST(CsvReader, SaysWhereAFileIsWrong) {
  EXPECT_EQ(error_of(""), ": is empty");
  EXPECT_EQ(error_of("at\n"), ":1: size: there is no such column");
  EXPECT_EQ(error_of("at,size\n1\n"), ":2: has 1 fields, and there are 2 columns");
  EXPECT_EQ(error_of("at,size\n1,2\n1,x\n"), ":3: size: is no number, or none that fits here");
  EXPECT_EQ(error_of("at,size\n1,-2\n"), ":2: size: is no number, or none that fits here");
  EXPECT_EQ(error_of("at,size\nnow,2\n"), ":2: at: is no time in seconds");
  EXPECT_EQ(error_of("at,size\n\"1,2\n"), ":2: ends in quotes");
  EXPECT_EQ(error_of("at,size\n\"1\"x,2\n"), ":2: goes on behind quotes");
  EXPECT_THROW(CsvReader("/there/is/none.csv"), InputError);
}

}  // namespace
}  // namespace ductile
