#include "workload/formula.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <muParser.h>

namespace ductile {
namespace {

double modulo(double a, double b) { return std::fmod(a, b); }
double both(double a, double b) { return a != 0 && b != 0 ? 1 : 0; }
double either(double a, double b) { return a != 0 || b != 0 ? 1 : 0; }
double power(double a, double b) { return std::pow(a, b); }
double floor_of(double a) { return std::floor(a); }
double ceil_of(double a) { return std::ceil(a); }
double round_of(double a) { return std::round(a); }
double trunc_of(double a) { return std::trunc(a); }
double log_of(double a) { return std::log(a); }

constexpr const char* kHelp =
    "write it with numbers, num_nodes, the job's arguments and + - * / % ^ ( )";

}  // namespace

struct Formula::Compiled {
  std::string text;
  Place place;
  mu::Parser parser;
  std::map<std::string, double, std::less<>> names;  // what the parser reads

  [[noreturn]] void fail(const std::string& what, const char* remedy) const {
    throw InputError(place, fmt::format("'{}' {}", text, what), remedy);
  }
  void compile();
  double value() const {
    try {
      return parser.Eval();
    } catch (const mu::Parser::exception_type& error) {
      fail(fmt::format("is no formula: {}", error.GetMsg()), kHelp);
    }
  }
};

Formula::Formula(const std::string& text, Place place) : compiled_(std::make_shared<Compiled>()) {
  compiled_->text = text;
  compiled_->place = std::move(place);
  for (std::size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
    const bool compares = text.find_first_of("=!<>", at == 0 ? 0 : at - 1) == at - 1 && at > 0;
    if (!compares && text.substr(at + 1, 1) != "=") {
      compiled_->fail("has a single =", "write == to compare");
    }
  }
  compiled_->compile();
}

void Formula::Compiled::compile() {
  parser.DefineOprt("%", modulo, mu::prMUL_DIV);
  parser.DefineOprt("and", both, mu::prLAND);
  parser.DefineOprt("or", either, mu::prLOR);
  parser.DefineFun("pow", power);
  parser.DefineFun("floor", floor_of);
  parser.DefineFun("ceil", ceil_of);
  parser.DefineFun("round", round_of);
  parser.DefineFun("trunc", trunc_of);
  parser.DefineFun("log", log_of);
  try {
    parser.SetExpr(text);
    for (const auto& [name, nothing] : parser.GetUsedVar()) names[name];
    for (auto& [name, value] : names) parser.DefineVar(name, &value);
  } catch (const mu::Parser::exception_type& error) {
    fail(fmt::format("is no formula: {}", error.GetMsg()), kHelp);
  }
  value();
  if (parser.GetNumResults() != 1) fail("are several formulas", "write one");
}

Formula::Formula(double number) : number_(number) {}

bool Formula::uses(std::string_view name) const {
  return compiled_ && compiled_->names.find(name) != compiled_->names.end();
}

double Formula::value(const Variables& variables) const {
  if (!compiled_) return number_;
  for (auto& [name, value] : compiled_->names) {
    const auto found = variables.find(name);
    if (found == variables.end()) {
      compiled_->fail(fmt::format("uses {}, which the job does not have", name),
                      "give the job such an argument");
    }
    if (std::isnan(found->second)) {
      compiled_->fail(fmt::format("uses {}, which is no number in the job", name),
                      "give the job a number there");
    }
    value = found->second;
  }
  const double result = compiled_->value();
  if (!std::isfinite(result)) compiled_->fail("has no finite value here", "look at its divisions");
  return result;
}

}  // namespace ductile
