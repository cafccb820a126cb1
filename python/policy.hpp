// Policies written in Python: classes with a method `schedule(self, view)`.
#pragma once

#include <memory>
#include <string>

#include <pybind11/pybind11.h>

#include "base/error.hpp"
#include "policies/registry.hpp"

namespace ductile {

/// A policy raised, or did what is not possible. The words say where in its file.
class PolicyRaised : public InputError {
 public:
  /// `cause` is the exception. With the lock of the interpreter.
  PolicyRaised(const Place& place, const std::string& what, const std::string& remedy,
               pybind11::object cause);
  /// With the lock of the interpreter.
  pybind11::object cause() const { return *cause_; }

 private:
  std::shared_ptr<pybind11::object> cause_;
};

/// The policy that such an object is. With the lock of the interpreter; its passes take it
/// themselves.
std::shared_ptr<Policy> python_policy(pybind11::object object);

/// "python:FILE.py:CLASS,parameter=value,...".
OutsidePolicies python_policies();

/// The types of what a policy sees, and the capsule by which programs make policies.
void add_policy_types(pybind11::module_& module);

}  // namespace ductile
