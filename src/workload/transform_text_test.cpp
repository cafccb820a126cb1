#include "workload/transform_text.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using Kind = Speedup::Kind;

std::string share_error(const std::string& text) {
  return testing::complaint([&] { parse_share("--malleable", text); });
}

TEST(TransformText, AShareAloneHasTheDefaults) {
  const AdaptiveShare share = parse_share("--malleable", "0.4");
  EXPECT_EQ(share.share, 0.4);
  EXPECT_EQ(share.min, Decimal(0.5));
  EXPECT_EQ(share.max, Decimal(5));
  EXPECT_EQ(share.model.base, Speedup{});
  EXPECT_FALSE(share.model.parameter);
  EXPECT_EQ(share.model.reference, ModelSettings::Reference::one);
  EXPECT_EQ(share.walltime_factor, always(1));
  EXPECT_TRUE(share.scale_rigid);
}

TEST(TransformText, AllKeysOfAShare) {
  const AdaptiveShare share =
      parse_share("--malleable",
                  "1:min=0.25,max=8,model=powerlaw,rho=LS,rho_error=-0.1..0.1,rho_reference=pref,"
                  "constraint=list:1:2:8,walltime_factor=1..2,rigid=trace");
  EXPECT_EQ(share.min, Decimal(0.25));
  EXPECT_EQ(share.max, Decimal(8));
  EXPECT_EQ(share.model.base.kind, Kind::powerlaw);
  EXPECT_EQ(share.model.parameter, (RandomValue{RandomValue::Kind::normal, 0.2, 0.3}));
  EXPECT_EQ(share.model.error, uniform(-0.1, 0.1));
  EXPECT_EQ(share.model.reference, ModelSettings::Reference::preferred);
  EXPECT_EQ(share.constraint, parse_constraint("list:1:2:8"));
  EXPECT_EQ(share.walltime_factor, uniform(1, 2));
  EXPECT_FALSE(share.scale_rigid);
}

TEST(TransformText, AParameterNamesItsModel) {
  const auto model = [](const std::string& text) { return parse_share("--moldable", text).model; };
  EXPECT_EQ(model("1:rho=0.05").base.kind, Kind::powerlaw);
  EXPECT_EQ(model("1:rho=0.05").parameter, always(0.05));
  EXPECT_EQ(model("1:s=0.1..0.2").base.kind, Kind::amdahl);
  EXPECT_EQ(model("1:x=0.01").base.kind, Kind::overhead);
  EXPECT_EQ(model("1:A=2,sigma=1").base.kind, Kind::downey);
  EXPECT_EQ(model("1:A=2,sigma=1").sigma, always(1));
  EXPECT_EQ(model("1:A=2").sigma, uniform(0, 2));
  EXPECT_EQ(model("1:model=overhead").parameter, uniform(0.005, 0.01));
  EXPECT_EQ(model("1:model=downey:64:0.5").base, (Speedup{Kind::downey, 64, 0.5}));
  EXPECT_EQ(model("1:model=powerlaw:0.2,rho_error=0.1").error, always(0.1));
  EXPECT_FALSE(model("1:model=powerlaw:0.2").parameter);
}

TEST(TransformText, Errors) {
  const auto model = [](const std::string& text) { return parse_share("--moldable", text).model; };
  EXPECT_EQ(model("1").error_in, ErrorIn::truth);
  EXPECT_EQ(model("1").time_error, always(1));
  EXPECT_EQ(model("1:time_error=0.5..2,error_in=belief").time_error, uniform(0.5, 2));
  EXPECT_EQ(model("1:time_error=2,error_in=belief").error_in, ErrorIn::belief);
  EXPECT_EQ(model("1:A=2,A_error=-1..1").error, uniform(-1, 1));
  EXPECT_EQ(model("1:A=2,sigma=1,sigma_error=-1").sigma_error, always(-1));
  EXPECT_EQ(model("1:model=downey:64:0.5,A_error=-60,sigma_error=-0.5").error, always(-60));
}

TEST(TransformText, KeysOfEvolvingJobs) {
  EvolvingSettings requests;
  const AdaptiveShare share = parse_evolving(
      "--evolving",
      "0.5:max=8,count=2..3,expand=0.7,left=0.1..0.2,window=absolute,delta_max=1,overlap=most",
      requests);
  EXPECT_EQ(share.max, Decimal(8));
  EXPECT_EQ(requests.count, uniform(2, 4));
  EXPECT_EQ(requests.expand, 0.7);
  EXPECT_EQ(requests.left, uniform(0.1, 0.2));
  EXPECT_EQ(requests.window, EvolvingSettings::Window::absolute);
  EXPECT_EQ(requests.delta_max, Decimal(1));
  EXPECT_EQ(requests.overlap, EvolvingSettings::Overlap::most);
  parse_evolving("--evolving", "1:count=2", requests);
  EXPECT_EQ(requests.count, uniform(2, 3));
}

TEST(TransformText, LevelsOfReconfiguration) {
  const auto cost = [](const char* text) {
    return parse_reconfiguration("--reconfiguration", text);
  };
  EXPECT_EQ(cost("full").scale, 1);
  EXPECT_EQ(cost("half").scale, 0.5);
  EXPECT_EQ(cost("free").scale, 0);
  const ReconfigurationSettings all =
      cost("full:alpha=1,beta=2..3,b=0,sync=0.015..0.1,negotiation=0.5,error=2");
  EXPECT_EQ(all.alpha_s, always(1));
  EXPECT_EQ(all.beta_s, uniform(2, 3));
  EXPECT_EQ(all.b_s, always(0));
  EXPECT_EQ(all.sync_s, uniform(0.015, 0.1));
  EXPECT_EQ(all.negotiation_s, always(0.5));
  EXPECT_EQ(all.error, always(2));
  EXPECT_EQ(all.error_in, ErrorIn::truth);
  EXPECT_EQ(all.transfer_s, 0);
  EXPECT_EQ(cost("full:error=0.5..2,error_in=belief").error, uniform(0.5, 2));
  EXPECT_EQ(cost("full:error=2,error_in=belief").error_in, ErrorIn::belief);
  EXPECT_EQ(cost("half:overhead_mode=bytes").transfer_s, 0.8);
  EXPECT_EQ(cost("half:overhead_mode=bytes,data_gb=5,bandwidth_gb_s=2").transfer_s, 2.5);
  EXPECT_EQ(cost("half:overhead_mode=seconds").transfer_s, 0);
}

TEST(TransformText, Estimates) {
  const auto kind = [](const char* text) { return parse_estimates("--estimates", text).kind; };
  EXPECT_EQ(kind("requested"), EstimateSettings::Kind::requested);
  EXPECT_EQ(kind("perfect"), EstimateSettings::Kind::perfect);
  EXPECT_EQ(kind("menu"), EstimateSettings::Kind::menu);
  EXPECT_EQ(kind("f:2.5"), EstimateSettings::Kind::factor);
  EXPECT_EQ(parse_estimates("--estimates", "f:2.5").f, 2.5);
}

TEST(TransformText, Bounds) {
  const auto bounds = [](const char* text) { return parse_bounds("--bound", text).of; };
  EXPECT_EQ(bounds("compute:0.31,memory:0.31,mixed:0.38"), (std::array{0.31, 0.31, 0.38}));
  EXPECT_EQ(bounds("memory:1"), (std::array{0.0, 1.0, 0.0}));
  EXPECT_EQ(bounds("mixed:0.5,compute:0.5"), (std::array{0.5, 0.0, 0.5}));
  const auto error = [](const char* text) {
    return testing::complaint([&] { parse_bounds("--bound", text); });
  };
  EXPECT_EQ(error("io:1"), "--bound: there is no 'io'; use compute, memory, mixed");
  EXPECT_EQ(error("memory:0.5"),
            "--bound: the shares are 0.5 together; let them be 1, as "
            "compute:0.3,memory:0.3,mixed:0.4");
  for (const char* text : {"", "memory", "memory:x", "memory:-1,mixed:2", "memory:1.5",
                           "memory:0.5,memory:0.5", "memory:0.5:1,mixed:0.5"}) {
    EXPECT_NE(error(text), "") << text;
  }
}

TEST(TransformText, ErrorsNameOptionAndKey) {
  EXPECT_EQ(share_error("half"),
            "--malleable: 'half' is no share from 0 to 1; write SHARE[:key=value,...], as "
            "0.4:max=4");
  EXPECT_EQ(share_error("1.5"),
            "--malleable: '1.5' is no share from 0 to 1; write SHARE[:key=value,...], as "
            "0.4:max=4");
  EXPECT_EQ(share_error("1:min=2"), "--malleable: min: '2' is no number from 0 to 1; correct it");
  EXPECT_EQ(share_error("1:max"), "--malleable: max: a value is missing; write max=VALUE");
  EXPECT_EQ(share_error("1:max=2,max=3"), "--malleable: max: given twice; give it once");
  EXPECT_EQ(share_error("1:size=2"),
            "--malleable: there is no 'size'; there are min, max, model, rho, s, x, A, sigma, "
            "error_in, rho_error, s_error, x_error, A_error, sigma_error, time_error, "
            "rho_reference, constraint, walltime_factor, rigid");
  EXPECT_EQ(share_error("1:model=fast"),
            "--malleable: model: there is no model 'fast'; use linear, powerlaw:RHO, amdahl:S, "
            "overhead:X, downey:A:SIGMA or table:N=TIME:N=TIME:...");
  EXPECT_EQ(share_error("1:model=amdahl"),
            "--malleable: model: 'amdahl' needs its s; write s=NUMBER or s=LEAST..MOST");
  EXPECT_EQ(share_error("1:model=amdahl,rho=0.1"),
            "--malleable: rho: does not go with the model amdahl:0; leave one of them away");
  EXPECT_EQ(share_error("1:rho=0.3..0.2"),
            "--malleable: rho: '0.3..0.2' is empty; write LEAST..MOST");
  EXPECT_EQ(
      share_error("1:rho=0.95,rho_error=0.1"),
      "--malleable: rho_error: the true rho would not be from 0 to 1; it is rho + error; give "
      "both");
  EXPECT_EQ(share_error("1:A=1..2,sigma=0.1,sigma_error=-0.2,error_in=belief"),
            "--malleable: sigma_error: the believed sigma would not be from 0 to 1000000; it is "
            "sigma + error; give both");
  EXPECT_EQ(share_error("1:error_in=both"),
            "--malleable: error_in: there is no 'both'; use truth, belief");
  EXPECT_EQ(share_error("1:rho_reference=two"),
            "--malleable: rho_reference: there is no 'two'; use one, pref");
  for (const char* text : {"",
                           ":",
                           "-0.1",
                           "nan",
                           "1:,",
                           "1:=2",
                           "1:rho=XS",
                           "1:rho=1.5",
                           "1:s=LS",
                           "1:x=0.1,s=0.1",
                           "1:model=linear,rho=0.1",
                           "1:model=table",
                           "1:rho_error=0.1",
                           "1:s=0.1,rho_error=0.1",
                           "1:A=1,A_error=-2",
                           "1:rho=0.1,A_error=1",
                           "1:sigma_error=0",
                           "1:time_error=0",
                           "1:time_error=x",
                           "1:constraint=big",
                           "1:rigid=no",
                           "1:walltime_factor=0",
                           "1:count=2",
                           "1:max=0.5"}) {
    EXPECT_NE(share_error(text), "") << text;
  }
  EvolvingSettings requests;
  for (const char* text : {"2", "1:count=1.5", "1:count=-1", "1:expand=2", "1:window=big",
                           "1:left=0.5..2", "1:overlap=all", "1:delta_max=-1"}) {
    EXPECT_NE(testing::complaint([&] { parse_evolving("--evolving", text, requests); }), "")
        << text;
  }
  for (const char* text :
       {"", "most", "full:", "full:gamma=1", "full:alpha=-1", "half:alpha=1..0", "full:error_in=x",
        "full:overhead_mode=bits", "full:data_gb=1", "full:bandwidth_gb_s=1",
        "full:overhead_mode=bytes,data_gb=0", "full:sync=1e5,error=1000"}) {
    const std::string message =
        testing::complaint([&] { parse_reconfiguration("--reconfiguration", text); });
    EXPECT_EQ(message.empty(), std::string(text) == "full:") << text;
  }
  for (const char* text : {"", "good", "f", "f:", "f:-1", "f:x", "f:1e9"}) {
    EXPECT_NE(testing::complaint([&] { parse_estimates("--estimates", text); }), "") << text;
  }
}

TEST(TransformText, AFlurryIsWhatIsSaid) {
  const FlurrySettings flurry = parse_flurry("--flurry", "days=0.5,jobs=20");
  EXPECT_EQ(flurry.jobs, 20u);
  EXPECT_EQ(flurry.share, 0.5);
  EXPECT_EQ(flurry.window, whole_seconds(43'200));
  for (const char* text : {"jobs=0", "share=2", "days=0", "days=x", "hours=1", "jobs=1,jobs=2"}) {
    EXPECT_NE(testing::complaint([&] { parse_flurry("--flurry", text); }), "") << text;
  }
}

}  // namespace
}  // namespace ductile
