// A small log, for tests of what writes and reads logs.
#pragma once

#include <string>

namespace ductile {

// Job 1 runs on 3 of 4 nodes, job 2 waits for all of them.
inline const std::string kTwoJobs =
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
    "P reserve 1 - - - 0 0 resources - 0 0 0 10000000 0\n";

/// The run of small_run.hpp, recorded, without its last line. docs/formats/log.md shows it.
inline const std::string kSmallLog =
    kTwoJobs +
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

/// Likewise of a machine of 4 nodes that has 7 after 2 s.
inline const std::string kGrowingLog = kTwoJobs +
                                       "E 2000000 0 machine 3 1 0 0 0 1 4294967295 0\n"
                                       "E 2000000 1 machine 7 2 100 200.5 1000000 1 0 1\n"
                                       "C 2000000 1\n"
                                       "P start 1 - - - 4 4 in-order - 0 0 0 0 0\n"
                                       "D 2 start 1 4 3-6 7000000 - in-order - 0\n"
                                       "E 7000000 1 ended 1 completed 0\n"
                                       "C 7000000 1\n"
                                       "E 10000000 1 ended 0 completed 0\n"
                                       "C 10000000 1\n";

}  // namespace ductile
