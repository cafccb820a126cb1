// Ductile's core for C++ programs: feed it events, carry out its decisions, write policies.
#pragma once

#include "policies/registry.hpp"
#include "scheduling/core.hpp"
#include "scheduling/pass.hpp"
