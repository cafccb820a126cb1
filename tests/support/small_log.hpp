// A small log, for tests of what writes and reads logs.
#pragma once

namespace ductile {

/// The run of small_run.hpp, recorded, without its last line. docs/formats/log.md shows it.
inline constexpr const char* kSmallLog =
    "ductile-log 3\n"
    "platform 4 1 0 0 0\n"
    "world 1 4294967295 0\n"
    "rules scaled 1 1 none 1\n"
    "policy easy 4294967295 0 fcfs 0 604800000000 none preferred 0 0\n"
    "E 0 1 submitted 1 7 0 0 0 rigid 0 10000000 3 3 3 0\n"
    "C 0 1\n"
    "P start 0 - - - 3 3 in-order - 0 0 0 0 0\n"
    "D 1 start 0 3 0-2 10000000 - in-order - 0\n"
    "E 1000000 1 submitted 2 7 0 0 0 rigid 1000000 5000000 4 4 4 0\n"
    "C 1000000 1\n"
    "P reserve 1 - - - 0 0 resources - 0 0 0 10000000 0\n"
    "E 2000000 1 submitted 3 7 0 0 0 rigid 2000000 8000000 1 1 1 0\n"
    "C 2000000 1\n"
    "P start 2 - - - 1 1 backfilled - 0 0 0 0 0\n"
    "D 2 start 2 1 3 10000000 - backfilled - 0\n"
    "E 10000000 1 ended 0 completed 0\n"
    "E 10000000 1 ended 2 completed 0\n"
    "C 10000000 1\n"
    "P start 1 - - - 4 4 in-order - 0 0 0 0 0\n"
    "D 3 start 1 4 0-3 15000000 - in-order - 0\n"
    "E 15000000 1 ended 1 completed 0\n"
    "C 15000000 1\n";

}  // namespace ductile
