#include "experiment/experiment_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;

std::string written(const std::string& text) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "experiment.toml";
  std::ofstream(path) << text;
  return path.string();
}

std::string error_of(const std::string& text) {
  return testing::complaint([&] { read_experiment(written(text)); });
}

TEST(ExperimentFile, OptionsKeepTheirNamesAndValues) {
  const Experiment experiment = read_experiment(
      written("title = \"T\"\nsource = \"S\"\ntrace = \"a.swf\"\njobs = 10\narrival-scale = 0.75\n"
              "clip = true\npolicy = [\"easy\", \"fcfs\"]\n"));
  EXPECT_EQ(experiment.title, "T");
  EXPECT_EQ(experiment.source, "S");
  ASSERT_EQ(experiment.variants.size(), 1u);
  const auto options = options_of(experiment, experiment.variants[0]);
  EXPECT_THAT(options,
              ::testing::UnorderedElementsAre(
                  OptionSetting{"trace", {"a.swf"}, 3}, OptionSetting{"jobs", {"10"}, 4},
                  OptionSetting{"arrival-scale", {"0.75"}, 5}, OptionSetting{"clip", {}, 6},
                  OptionSetting{"policy", {"easy", "fcfs"}, 7}));
}

TEST(ExperimentFile, AVariantReplacesWhatTheFileSays) {
  const Experiment experiment =
      read_experiment(written("policy = \"easy\"\njobs = 10\n[[variant]]\nname = \"few\"\n"
                              "jobs = 5\n[[variant]]\nname = \"many\"\n"));
  ASSERT_EQ(experiment.variants.size(), 2u);
  EXPECT_THAT(options_of(experiment, experiment.variants[0]),
              ::testing::UnorderedElementsAre(OptionSetting{"policy", {"easy"}, 1},
                                              OptionSetting{"jobs", {"5"}, 5}));
  EXPECT_THAT(options_of(experiment, experiment.variants[1]),
              ::testing::UnorderedElementsAre(OptionSetting{"policy", {"easy"}, 1},
                                              OptionSetting{"jobs", {"10"}, 2}));
}

TEST(ExperimentFile, WhatExcludesEachOtherIsReplacedTogether) {
  const Experiment experiment =
      read_experiment(written("trace = \"a.swf\"\nseeds = \"1..3\"\n"
                              "[[variant]]\nname = \"made\"\ngenerate = \"rigid\"\nseed = 7\n"));
  EXPECT_THAT(options_of(experiment, experiment.variants[0]),
              ::testing::UnorderedElementsAre(OptionSetting{"generate", {"rigid"}, 5},
                                              OptionSetting{"seed", {"7"}, 6}));
  EXPECT_FALSE(replaces("seed", "trace"));
  EXPECT_TRUE(replaces("platform", "nodes") && replaces("nodes", "platform"));
  EXPECT_TRUE(replaces("platform", "cores-per-node"));
  EXPECT_FALSE(replaces("nodes", "cores-per-node"));
}

TEST(ExperimentFile, AStatementStandsForAllCombinations) {
  const Experiment experiment = read_experiment(
      written("[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n"
              "[[statement]]\nid = \"X1\"\nfor = [\"gain\", \"time\"]\n"
              "figure = [\"mean_wait_s\", \"utilization\"]\nvariant = [\"a\", \"b\"]\n"
              "runs = \"elastic:victim=*\"\nagainst = { variant = \"b\", policy = \"easy\" }\n"
              "direction = \"worse\"\n"
              "[[statement]]\nfigure = \"mean_wait_s\"\nruns = \"mebf\"\nagainst = \"easy\"\n"
              "percent = 40\n"));
  ASSERT_EQ(experiment.statements.size(), 9u);
  const Statement& first = experiment.statements[0];
  EXPECT_EQ(first.id, "X1");
  EXPECT_EQ(first.figure, "mean_wait_s");
  EXPECT_EQ(first.runs, (RunsOf{"a", "elastic:victim=gain"}));
  EXPECT_EQ(first.against, (RunsOf{"b", "easy"}));
  EXPECT_EQ(first.direction, Statement::Direction::worse);
  EXPECT_EQ(experiment.statements[7].runs, (RunsOf{"b", "elastic:victim=time"}));
  EXPECT_EQ(experiment.statements[8].runs, (RunsOf{"a", "mebf"}));
  EXPECT_EQ(experiment.statements[8].percent, 40);
}

TEST(ExperimentFile, StatementsAboutSeveral) {
  const Experiment experiment = read_experiment(
      written("[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n"
              "[[statement]]\nid = \"T\"\nfor = [\"gain\", \"time\"]\nfigure = \"mean_wait_s\"\n"
              "among = [\"easy\", \"elastic:victim=*\", { variant = \"b\", policy = \"easy\" }]\n"
              "best = \"elastic:victim=*\"\nworst = { variant = \"b\", policy = \"easy\" }\n"
              "spread = 2.5\n"));
  ASSERT_EQ(experiment.statements.size(), 6u);
  const Statement& best = experiment.statements[0];
  EXPECT_EQ(best.kind, Statement::Kind::best);
  EXPECT_EQ(best.runs, (RunsOf{"a", "elastic:victim=gain"}));
  EXPECT_EQ(best.among, (std::vector<RunsOf>{{"a", "easy"}, best.runs, {"b", "easy"}}));
  EXPECT_EQ(experiment.statements[1].kind, Statement::Kind::worst);
  EXPECT_EQ(experiment.statements[1].runs, (RunsOf{"b", "easy"}));
  EXPECT_EQ(experiment.statements[2].kind, Statement::Kind::spread);
  EXPECT_EQ(experiment.statements[2].percent, 2.5);
  EXPECT_EQ(experiment.statements[3].runs, (RunsOf{"a", "elastic:victim=time"}));
}

TEST(ExperimentFile, ErrorsOfStatementsAboutSeveral) {
  const std::string statement = "[[statement]]\nfigure = \"mean_wait_s\"\n",
                    among = statement + "among = [\"easy\", \"mebf\"]\n";
  EXPECT_THAT(error_of(statement + "best = \"easy\"\n"), HasSubstr(":1: statement: has no among"));
  EXPECT_THAT(error_of(among), HasSubstr(":1: statement: does not say what is so among them"));
  EXPECT_THAT(error_of(among + "best = \"fcfs\"\n"),
              HasSubstr(":1: best: 'fcfs' is not one of among"));
  EXPECT_THAT(error_of(among + "spread = \"x\"\n"), HasSubstr(":4: spread: is no number"));
  EXPECT_THAT(error_of(among + "spread = -1\n"), HasSubstr(":4: spread: is below 0"));
  EXPECT_THAT(error_of(among + "best = \"easy\"\npercent = 3\n"),
              HasSubstr(":5: percent: does not go with among"));
  EXPECT_THAT(error_of(statement + "among = \"easy\"\n"), HasSubstr(":3: among: is one alone"));
  EXPECT_THAT(error_of(statement + "among = [\"easy\", \"easy\"]\nspread = 1\n"),
              HasSubstr(":1: among: easy is there twice"));
}

TEST(ExperimentFile, ErrorsSayWhereAndTheRemedy) {
  EXPECT_THAT(error_of("jobs = \n"), HasSubstr("experiment.toml:1: "));
  EXPECT_THAT(error_of("a = 1\njobs = { x = 1 }\n"),
              HasSubstr("experiment.toml:2: jobs: is no value of an option"));
  EXPECT_THAT(error_of("clip = false\n"), HasSubstr(":1: clip: false does nothing"));
  EXPECT_THAT(error_of("policy = []\n"), HasSubstr("policy: has no value"));
  EXPECT_THAT(error_of("variant = 3\n"), HasSubstr("write [[variant]]"));
  EXPECT_THAT(error_of("[[variant]]\njobs = 3\n"), HasSubstr("variant: has no name"));
  EXPECT_THAT(error_of("[[variant]]\nname = \"a\"\n[[variant]]\nname = \"a\"\n"),
              HasSubstr(":3: variant: 'a' is there twice"));
  const std::string statement = "[[statement]]\nfigure = \"mean_wait_s\"\nruns = \"easy\"\n";
  EXPECT_THAT(error_of(statement), HasSubstr(":1: statement: has no against"));
  EXPECT_THAT(error_of(statement + "against = \"a:b=*\"\n"), HasSubstr("'*' stands for nothing"));
  EXPECT_THAT(error_of(statement + "against = { variant = \"v\", policy = \"fcfs\" }\n"),
              HasSubstr(":4: against: there is no variant 'v'"));
  EXPECT_THAT(error_of(statement + "direction = \"up\"\n"),
              HasSubstr("use better, worse, not better, higher, lower or equal"));
  EXPECT_THAT(error_of(statement + "percent = \"x\"\n"), HasSubstr("percent: is no number"));
  EXPECT_THAT(error_of(statement + "speed = 1\n"),
              HasSubstr("speed: a statement has no such field"));
  EXPECT_THAT(error_of(statement + "for = \"*\"\n"), HasSubstr("cannot stand for '*'"));
  EXPECT_THAT(error_of("[[statement]]\nfigure = \"mood\"\n"),
              HasSubstr("there is no figure 'mood'"));
  EXPECT_THAT(error_of("title = 3\n"), HasSubstr("title: is no text"));
  try {
    read_experiment("/nowhere/at all.toml");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/at all.toml: No such file"));
  }
}

TEST(ExperimentFile, TheOtherSideOfAChoiceIsMoreVariantsAndStatements) {
  const Experiment experiment = read_experiment(written(
      "policy = [\"easy\", \"mebf\", \"mebf:gap=shrink+\"]\nestimates = \"perfect\"\n"
      "[[variant]]\nname = \"a\"\nmalleable = \"1:rho=LS\"\n"
      "[[variant]]\nname = \"b\"\nmalleable = \"0.5\"\n"
      "[[statement]]\nid = \"M1\"\nfigure = \"mean_wait_s\"\nruns = \"mebf\"\nagainst = \"easy\"\n"
      "[[statement]]\nid = \"M2\"\nfigure = \"mean_wait_s\"\nruns = { variant = \"b\", policy = "
      "\"mebf\" }\nagainst = \"easy\"\n"
      "[[otherwise]]\nname = \"pref\"\nnote = \"why\"\nvariants = [\"a\"]\nestimates = "
      "\"requested\"\nadd = { malleable = \",rho_reference=pref\" }\n"
      "[[otherwise]]\nname = \"one\"\nparameters = { mebf = \"shrink_scope=one\" }\n"));
  ASSERT_EQ(experiment.variants.size(), 5u);
  const Variant& pref = experiment.variants[2];
  EXPECT_EQ(pref.name, "a; pref");
  EXPECT_EQ(pref.side, "pref");
  const auto value = [&](const Variant& variant, const std::string& name) {
    for (const OptionSetting& option : options_of(experiment, variant)) {
      if (option.name == name) return option.values;
    }
    return std::vector<std::string>();
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(value(pref, "malleable"), ElementsAre("1:rho=LS,rho_reference=pref"));
  EXPECT_THAT(value(pref, "estimates"), ElementsAre("requested"));
  EXPECT_THAT(value(experiment.variants[4], "policy"),
              ElementsAre("easy", "mebf:shrink_scope=one", "mebf:gap=shrink+,shrink_scope=one"));
  EXPECT_THAT(value(experiment.variants[4], "estimates"), ElementsAre("perfect"));
  // M2 compares with a variant that the first one is not for.
  ASSERT_EQ(experiment.statements.size(), 5u);
  EXPECT_EQ(experiment.statements[2].id, "M1");
  EXPECT_EQ(experiment.statements[2].side, "pref");
  EXPECT_EQ(experiment.statements[2].runs, (RunsOf{"a; pref", "mebf"}));
  EXPECT_EQ(experiment.statements[4].base, 1u);
  EXPECT_EQ(experiment.statements[4].runs, (RunsOf{"b; one", "mebf:shrink_scope=one"}));
  EXPECT_EQ(experiment.statements[4].against, (RunsOf{"a; one", "easy"}));
  ASSERT_EQ(experiment.otherwise.size(), 2u);
  EXPECT_EQ(experiment.otherwise[0].note, "why");
}

TEST(ExperimentFile, AnOtherSideCanBeAboutSomeStatementsAlone) {
  const std::string text =
      "policy = [\"easy\", \"mebf\"]\n"
      "[[statement]]\nid = \"M1\"\nfigure = \"mean_wait_s\"\nruns = \"mebf\"\nagainst = \"easy\"\n"
      "[[statement]]\nid = \"M2\"\nfigure = \"utilization\"\nruns = \"mebf\"\nagainst = \"easy\"\n"
      "[[otherwise]]\nname = \"few\"\njobs = 5\nstatements = ";
  const Experiment experiment = read_experiment(written(text + "[\"M2\"]\n"));
  ASSERT_EQ(experiment.statements.size(), 3u);
  EXPECT_EQ(experiment.statements[2].id, "M2");
  EXPECT_EQ(experiment.statements[2].side, "few");
  EXPECT_EQ(experiment.statements[2].base, 1u);
  EXPECT_THAT(error_of(text + "\"M3\"\n"), HasSubstr("statements: there is no statement 'M3'"));
}

TEST(ExperimentFile, AnOtherSideThatChangesNothingIsAnError) {
  EXPECT_THAT(error_of("jobs = 5\n[[otherwise]]\nname = \"x\"\n"),
              HasSubstr("experiment.toml:2: otherwise: changes nothing"));
  EXPECT_THAT(error_of("jobs = 5\n[[otherwise]]\njobs = 6\n"), HasSubstr("has no name"));
  EXPECT_THAT(error_of("jobs = 5\n[[otherwise]]\nname = \"x\"\nadd = { malleable = \",a=b\" }\n"),
              HasSubstr("has no option malleable to add"));
  EXPECT_THAT(error_of("jobs = 5\n[[otherwise]]\nname = \"x\"\nadd = 5\n"),
              HasSubstr("add: is no table"));
}

TEST(ExperimentFile, AFigureCanBeComparedWithANumber) {
  const auto of = [](const std::string& rest) {
    return "[[statement]]\nfigure = \"utilization\"\nruns = \"easy\"\n" + rest;
  };
  const Experiment experiment = read_experiment(written(of("at_most = 0.91\n")));
  ASSERT_EQ(experiment.statements.size(), 1u);
  EXPECT_EQ(experiment.statements[0].kind, Statement::Kind::at_most);
  EXPECT_DOUBLE_EQ(experiment.statements[0].value, 0.91);
  EXPECT_THAT(error_of(of("is = 1\nagainst = \"fcfs\"\n")), HasSubstr("does not go with is"));
  EXPECT_THAT(error_of(of("is = 1\nat_most = 2\n")), HasSubstr("is the second one"));
  EXPECT_THAT(error_of(of("is = \"much\"\n")), HasSubstr("is no number"));
}

TEST(ExperimentFile, HigherAndLowerAreBetterOrWorseByTheFigure) {
  const auto direction = [](const std::string& figure, const std::string& word) {
    return read_experiment(written("[[statement]]\nfigure = \"" + figure +
                                   "\"\nruns = \"easy\"\nagainst = \"fcfs\"\ndirection = \"" +
                                   word + "\"\n"))
        .statements[0]
        .direction;
  };
  using Direction = Statement::Direction;
  EXPECT_EQ(direction("utilization", "higher"), Direction::better);
  EXPECT_EQ(direction("mean_wait_s", "higher"), Direction::worse);
  EXPECT_EQ(direction("mean_wait_s", "lower"), Direction::better);
  EXPECT_EQ(direction("expands", "higher"), Direction::better);  // neither, but more of them
  EXPECT_EQ(direction("utilization", "lower"), Direction::worse);
}

TEST(ExperimentFile, AFactorialIsPolicies) {
  const std::string head = "[factorial]\npolicy = \"elastic\"\nfigures = [\"makespan_s\"]\n";
  const std::string factor = "[[factor]]\nname = \"a\"\nparameter = \"t\"\nlevels = [1, 2]\n";
  const Experiment experiment =
      read_experiment(written("policy = \"easy\"\n" + head + factor +
                              "[[factor]]\nname = \"b\"\nparameter = \"x\"\nlevels = [3, 4]\n"));
  ASSERT_TRUE(experiment.factorial);
  EXPECT_EQ(experiment.factorial->factors.at(1).name, "b");
  EXPECT_THAT(experiment.options.at(0).values,
              ::testing::ElementsAre("easy", "elastic:t=1,x=3", "elastic:t=1,x=4",
                                     "elastic:t=2,x=3", "elastic:t=2,x=4"));
  EXPECT_THAT(error_of(head + factor), HasSubstr(":1: factorial: has less than two factors"));
  EXPECT_THAT(error_of(factor), HasSubstr(":1: factor: there is no [factorial]"));
  EXPECT_THAT(error_of("[factorial]\npolicy = \"elastic\"\n"), HasSubstr("has no figures"));
  EXPECT_THAT(error_of(head + "goal = 1\n"), HasSubstr("goal: [factorial] has no such field"));
  EXPECT_THAT(error_of(head + "[[factor]]\nname = \"a\"\nparameter = \"t\"\nlevels = 1\n"),
              HasSubstr("has less than two levels"));
}

TEST(ExperimentFile, TheHighestIsOneStatementAboutAllPairs) {
  const Experiment experiment = read_experiment(
      written("policy = [\"easy\", \"fcfs\", \"mebf\"]\n[[statement]]\nfigure = \"makespan_s\"\n"
              "runs = [\"mebf\", \"easy\"]\nagainst = \"fcfs\"\nhighest = 42\n"));
  ASSERT_EQ(experiment.statements.size(), 1u);
  const Statement& its = experiment.statements.front();
  EXPECT_EQ(its.kind, Statement::Kind::highest);
  EXPECT_THAT(its.among, ::testing::ElementsAre(RunsOf{"", "mebf"}, RunsOf{"", "easy"}));
  EXPECT_THAT(its.against_each, ::testing::ElementsAre(RunsOf{"", "fcfs"}, RunsOf{"", "fcfs"}));
  EXPECT_THAT(error_of("[[statement]]\nfigure = \"makespan_s\"\nruns = \"easy\"\n"
                       "against = \"fcfs\"\nhighest = 42\npercent = 1\n"),
              HasSubstr(":6: percent: does not go with highest"));
}

// What is wanted on all sides, and no run besides.
TEST(ExperimentFile, OfSomeStatementsOnlyTheirRuns) {
  const Experiment all = read_experiment(written(
      "policy = [\"easy\", \"fcfs\", \"mebf\"]\n[[variant]]\nname = \"few\"\n"
      "[[variant]]\nname = \"many\"\n"
      "[[statement]]\nid = \"A\"\nfigure = \"makespan_s\"\nruns = \"easy\"\nagainst = \"fcfs\"\n"
      "[[statement]]\nid = \"B\"\nfigure = \"makespan_s\"\nruns = \"mebf\"\nagainst = \"fcfs\"\n"
      "[[otherwise]]\nname = \"half\"\njobs = 5\n"));
  const Experiment some =
      with_statements(all, [](const Statement& statement) { return statement.id == "B"; });
  ASSERT_EQ(some.variants.size(), 2u);
  EXPECT_EQ(some.variants[0].name, "few");
  EXPECT_EQ(some.variants[1].name, "few; half");
  ASSERT_EQ(some.statements.size(), 2u);
  EXPECT_EQ(some.statements[1].side, "half");
  EXPECT_EQ(some.statements[1].base, 0u);
  for (const OptionSetting& option : options_of(some, some.variants[1])) {
    if (option.name != "policy") continue;
    EXPECT_THAT(option.values, ::testing::ElementsAre("mebf", "fcfs"));
  }
}

}  // namespace
}  // namespace ductile
