#!/usr/bin/python3
"""A file of a floor includes only its own floor, the floors below, and the libraries its floor names.

The table is that of the calls of ductile_floor() in CMakeLists.txt. The core, on which recovery and
what-if stand, also does no I/O of its own.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"

# Floors that compute and nothing else: no I/O, no clock, no threads, no other library but one that
# computes, too.
PURE = {"base", "model", "scheduling", "policies", "solver"}
COMPUTING = {"solver": {"Clp::Clp"}}
NOT_PURE = {
    "condition_variable", "cstdio", "filesystem", "fstream", "future", "iostream", "istream", "mutex",
    "ostream", "print", "sstream", "stdio.h", "syncstream", "thread", "unistd.h",
}

# First part of an include's path -> what a floor has to name in CMakeLists.txt.
LIBRARIES = {
    "CLI": "CLI11::CLI11",
    "coin": "Clp::Clp",
    "fmt": "fmt::fmt",
    "lzma.h": "LibLZMA::LibLZMA",
    "munge.h": "Munge::Munge",
    "muParser.h": "muparser::muparser",
    "nlohmann": "nlohmann_json::nlohmann_json",
    "pugixml.hpp": "pugixml::pugixml",
    "spdlog": "spdlog::spdlog",
    "sqlite3.h": "SQLite::SQLite3",
    "toml++": "tomlplusplus::tomlplusplus",
    "zlib.h": "ZLIB::ZLIB",
    "zmq.h": "ZMQ::ZMQ",
    "zstd.h": "PkgConfig::ZSTD",
}
# Tests may also use these, and std::stringstream and the like.
TEST_LIBRARIES = {"benchmark", "gmock", "gtest", "rapidcheck", "rapidcheck.h", "support"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def read_table():
    """floor -> (floors it may include, libraries it names)"""
    text = re.sub(r"#.*", "", (ROOT / "CMakeLists.txt").read_text())
    table = {}
    for call in re.findall(r"ductile_floor\(([^)]*)\)", text):
        name, *words = call.split()
        below, libraries, target = {name}, set(), None
        for word in words:
            if word in ("DEPENDS", "LIBRARIES"):
                target = word
            elif target is None:
                if word != "FAST":
                    sys.exit(f"CMakeLists.txt: floor {name}: what is '{word}'?")
            elif target == "DEPENDS":
                if word not in table:
                    sys.exit(f"CMakeLists.txt: floor {name} stands on {word}, which is not below it")
                below |= table[word][0]
            else:
                libraries.add(word)
        table[name] = (below, libraries)
    return table


def problems_of(path, floor, table):
    below, libraries = table[floor]
    is_test = path.stem.endswith("_test")
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        where = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start(2)) + 1}"
        quote, name = match.groups()
        first = name.split("/")[0]
        if is_test and first in TEST_LIBRARIES:
            continue
        # Slurm's own headers, <slurm/slurm.h>, have a folder as ours.
        if first in table and (quote == '"' or (SOURCE / name).exists()):
            if first not in below:
                yield f"{where}: floor {floor} includes {name}, but does not stand on {first}"
            elif quote == "<":
                yield f'{where}: write "{name}": <> is for others\' headers'
        elif quote == '"' and first not in ("ductile",):
            yield f'{where}: "{name}" is not a path from src/ or include/'
        elif first in LIBRARIES:
            if LIBRARIES[first] not in libraries:
                yield (f"{where}: floor {floor} includes {name}, but does not name "
                       f"{LIBRARIES[first]} in CMakeLists.txt")
        elif floor in PURE and not is_test and name in NOT_PURE:
            yield f"{where}: floor {floor} only computes; <{name}> belongs to a higher floor"
        elif "/" in name and floor in PURE and not is_test:
            yield f"{where}: floor {floor} uses no library, but includes {name}"


def main():
    table = read_table()
    problems, count = [], 0
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix not in (".cpp", ".hpp"):
            continue
        count += 1
        floor = path.relative_to(SOURCE).parts[0]
        if floor not in table:
            problems.append(f"{path.relative_to(ROOT)}: CMakeLists.txt has no floor {floor}")
        else:
            problems += problems_of(path, floor, table)
    for floor in PURE & table.keys():
        if linked := table[floor][1] - COMPUTING.get(floor, set()):
            problems.append(f"CMakeLists.txt: floor {floor} links {', '.join(linked)}")
    print("\n".join(problems + [f"{count} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
