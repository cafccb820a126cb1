// Crashes on purpose, for the tests of recovery. Without DUCTILE_CRASH_AT none of this does
// anything.
#pragma once

namespace ductile {

/// A moment at which the controller must be able to die, between two things that others can see: at
/// the one whose number, from 1, is in DUCTILE_CRASH_AT the process kills itself.
void crash_point();

}  // namespace ductile
