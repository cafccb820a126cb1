#include "report/text.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace ductile {
namespace {

std::string file_with(const std::string& text) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / "summary.json").string();
  std::ofstream(path) << text;
  return path;
}

TEST(ReportText, Numbers) {
  EXPECT_EQ(number_text(241403), "241403");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(Summary::kNone), "null");
}

TEST(ReportText, StringsAreJson) {
  EXPECT_EQ(json_text("a\"b\n"), "\"a\\\"b\\n\"");
  EXPECT_EQ(json_text("\xff"), "\"\xef\xbf\xbd\"");
}

TEST(ReportText, ASummaryComesBack) {
  Summary summary;
  summary.policy = "easy:order=sjf";
  summary.seed = 18446744073709551615u;
  summary.jobs = 3;
  summary.mean_wait_s = 1.0 / 3;
  summary.stopped = true;
  summary.run = R"({"inputs":[{"file":"x"}],"policy":"easy:order=sjf","seed":3})";
  const std::string json = to_json(summary);
  EXPECT_TRUE(nlohmann::json::parse(json)["median_wait_s"].is_null());

  const auto read = read_summaries(file_with(json));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].folder, "");
  EXPECT_EQ(to_json(read[0].summary), json);
}

TEST(ReportText, ALineForEachValue) {
  EXPECT_EQ(indented(R"({"a":[1],"b":"x"})"), "{\n \"a\": [\n  1\n ],\n \"b\": \"x\"\n}");
}

TEST(ReportText, AComparisonHasSeveral) {
  const std::string json = to_json(Summary());
  const auto read = read_summaries(file_with("{\"runs\": [{\"folder\": \"a\", " + json.substr(1) +
                                             ", {\"folder\": \"b\", " + json.substr(1) + "]}"));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].folder, "b");
}

TEST(ReportText, WhatIsNoSummaryIsAnInputError) {
  EXPECT_THROW(read_summaries("no/such/file"), InputError);
  EXPECT_THROW(read_summaries(file_with("{")), InputError);
  EXPECT_THROW(read_summaries(file_with("{\"policy\": 3}")), InputError);
  EXPECT_THROW(read_summaries(file_with("{\"runs\": 3}")), InputError);
  EXPECT_THROW(read_summaries(file_with("[3]")), InputError);
  const std::string json = to_json(Summary());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = json;
    text.replace(text.find(from), from.size(), to);
    return file_with(text);
  };
  EXPECT_NO_THROW(read_summaries(with("\"seed\": 1", "\"seed\": 2")));
  EXPECT_THROW(read_summaries(with("\"seed\": 1", "\"seed\": -1")), InputError);
  EXPECT_THROW(read_summaries(with("\"seed\": 1", "\"seed\": 1.5")), InputError);
  EXPECT_THROW(read_summaries(with("\"nodes\": 0", "\"nodes\": 4294967296")), InputError);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THROW(read_summaries(with("\"seed\"", "\"run\": " + deep + ", \"seed\"")), InputError);
}

TEST(ReportText, WhatMeasuresTheMachineMayBeLeftOut) {
  Summary summary;
  summary.simulate_seconds = 3;
  summary.jobs = 4;
  const std::string figures = figures_json(summary);
  EXPECT_EQ(figures.find("simulate_seconds"), std::string::npos);
  const Summary again = read_summaries(file_with(figures)).at(0).summary;
  EXPECT_EQ(again.jobs, 4u);
  EXPECT_EQ(again.simulate_seconds, 0);
}

}  // namespace
}  // namespace ductile
