#include "live/json_text.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

// The smallest time there is, 5 us, has an exponent and no point.
constexpr std::array kNumbers{0.0, 1.0, -2.5, 5e-06, 1e-05, 1e16, 1e300, 1795221559.246571};

// What it writes is what a tree of values would be written as.
TEST(JsonText, IsThatOfValues) {
  const std::string awkward = "a\"b\\c\n\x01 \u00e9";
  std::string ascii;
  for (char c = 1; c > 0 && c < 127; ++c) ascii += c;
  const Json part = {{"x", 1},
                     {"y", Json::array({nullptr, ascii, {{"\"z", awkward}}, Json::object()})}};
  JsonText text;
  text.begin().add("ok", true).add("none", std::optional<int>()).begin_list("rows");
  for (const double value : kNumbers) {
    text.begin().add("number", value).add("text", awkward).end();
  }
  text.end_list().begin_list("empty").end_list();
  text.add("most", std::numeric_limits<std::uint64_t>::max()).add("least", std::int32_t{-7});
  text.add("some", std::optional(3U)).add("part", part).end();

  Json expected = {{"ok", true}, {"none", nullptr}, {"rows", Json::array()}};
  for (const double value : kNumbers) {
    expected["rows"].push_back({{"number", value}, {"text", awkward}});
  }
  expected["empty"] = Json::array();
  expected["most"] = std::numeric_limits<std::uint64_t>::max();
  expected["least"] = -7;
  expected["some"] = 3;
  expected["part"] = part;
  EXPECT_EQ(text.take(), expected.dump());
}

// What was taken of it before the rest was written.
TEST(JsonText, GoesOnAfterAPart) {
  const Json expected = {{"rows", Json::array({{{"a", 1}}, {{"a", 2}}, Json::object()})},
                         {"z", ""}};
  std::string whole;
  JsonText text;
  const auto part = [&] {
    whole += text.so_far();
    text.clear();
  };
  text.begin().begin_list("rows");
  part();
  text.begin();
  part();
  text.add("a", 1).end();
  part();
  part();
  text.begin().add("a", 2).end().begin().end().end_list();
  part();
  text.add("z", "").end();
  EXPECT_EQ(whole + text.take(), expected.dump());
}

TEST(JsonText, IsThatOfOneValue) {
  for (const Json& value :
       {Json("a\x7f\x1f\b"), Json(1.5), Json(), Json::array(), Json{{"a", {1, {"b"}}}}}) {
    EXPECT_EQ(JsonText().add(value).take(), value.dump());
  }
}

TEST(JsonText, ReplacesWhatIsNoText) {
  JsonText text;
  text.begin().add("name", "\xff").add("nan", std::numeric_limits<double>::quiet_NaN()).end();
  EXPECT_EQ(Json::parse(text.take()), (Json{{"name", "\ufffd"}, {"nan", nullptr}}));
}

}  // namespace
}  // namespace ductile
