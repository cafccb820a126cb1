// Policies written in Python, for programs without one: they are in a library that is loaded when
// somebody asks for such a policy, and that begins Python (python/plugin.cpp).
#pragma once

#include <map>
#include <memory>
#include <string>

#include <sys/types.h>

#include "policies/registry.hpp"
#include "scheduling/policy.hpp"

namespace ductile {

/// "python:FILE.py:CLASS,parameter=value,...".
OutsidePolicies outside_python();

// ---- Between program and library ----------------------------------------------------------------

/// They are of one build, or their types may differ.
#ifdef DUCTILE_CHECK_INVARIANTS
inline constexpr const char* kPythonBuild = DUCTILE_VERSION " checked";
#else
inline constexpr const char* kPythonBuild = DUCTILE_VERSION;
#endif

struct PythonPolicies {
  static constexpr const char* kCapsule = "ductile._ductile._for_programs";

  const char* build;
  /// As `OutsidePolicies::make`.
  void (*make)(const std::string& what, const std::map<std::string, std::string>& own,
               std::shared_ptr<Policy>& policy);
  /// As `OutsidePolicies::fork`: Python is told, and goes on in both with the same random numbers.
  pid_t (*fork)();
};

/// Begins Python; of the library, by this name. Null: `error` says why not.
using BeginPython = const PythonPolicies*(std::string& error);
inline constexpr const char* kBeginPython = "ductile_begin_python";

}  // namespace ductile
