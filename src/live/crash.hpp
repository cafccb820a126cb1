// Crashes on purpose, for the tests of recovery. Without DUCTILE_CRASH_AT none of this does
// anything.
#pragma once

namespace ductile {

/// What is going on at a moment.
enum class Moment { any, resize, change, commit, snapshot, child_of_snapshot };

/// A moment at which the controller must be able to die, between two things that others can see: at
/// the one whose number, from 1, is in DUCTILE_CRASH_AT the process kills itself. "resize:N" counts
/// those alone at which a resize is decided, ordered or answered, "change:N" those at which a part
/// of a change of an array is durable, and not all of it, "commit:N" those between a commit and the
/// mark that tells of it, "snapshot:N" those of a snapshot in the controller itself, "child:N"
/// those of each child that writes one, which end the child alone.
void crash_point(Moment moment = Moment::any);

/// For tests within one process: this is called at each of these moments instead, and may throw.
/// Null: nothing is.
void set_crash(void (*crash)(Moment));

}  // namespace ductile
