#!/usr/bin/python3
"""What clang-format and clang-tidy do not look for: leftovers, guards, sources without a test,
and headers that a test misses."""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["bench", "cmake", "docs", "examples", "experiments", "include", "python", "runtime",
           "scripts", "src", "tests", "web"]
SUFFIXES = {".c", ".cmake", ".cpp", ".h", ".hpp", ".md", ".py", ".rst", ".sh", ".toml", ".txt", ""}
CPP = {".cpp", ".hpp"}
ITSELF = pathlib.Path(__file__).resolve()

# (name of the rule, expression, suffixes it holds for or None for all)
RULES = [
    ("a tab", re.compile(r"\t"), None),
    ("a blank at the end of a line", re.compile(r"[ \r]$"), None),
    ("a note to oneself; do it or write down why not", re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), None),
    ("a path of one machine", re.compile(r"(?<![\w.}$<>*])/(home|root|work|mnt|Users)/\w"), None),
    ("typedef; write using", re.compile(r"^\s*typedef "), CPP),
    ("using namespace std", re.compile(r"\busing\s+namespace\s+std\s*;"), CPP),
    ("an include guard; write #pragma once", re.compile(r"^#ifndef \w+_(H|HPP|H_|HPP_)$"), CPP),
]

# Sources of these floors have a test beside them, NAME_test.cpp, but for:
TESTED_FLOORS = ["base", "model", "scheduling", "policies", "solver", "workload", "simulation",
                 "metrics", "report", "experiment"]
UNTESTED = {
    # "floor/name.cpp": "where it is tested instead",
    "policies/lending.cpp": "policies/lend_test.cpp",
    "report/chrome_trace.cpp": "report/run_folder_test.cpp",
    "report/decisions_csv.cpp": "report/run_folder_test.cpp",
    "report/explanation.cpp": "tests/property/explanation_test.cpp",
    "report/figure_comparison.cpp": "report/figures_test.cpp",
    "report/figure_days.cpp": "report/figures_test.cpp",
    "report/figure_distributions.cpp": "report/figures_test.cpp",
    "report/figure_gantt.cpp": "report/figures_test.cpp",
    "report/figure_main.cpp": "report/figures_test.cpp",
    "report/figure_ratios.cpp": "report/figures_test.cpp",
    "report/figure_resizes.cpp": "report/figures_test.cpp",
    "report/figure_series.cpp": "report/figures_test.cpp",
    "report/pdf_canvas.cpp": "report/canvas_test.cpp",
    "report/svg_canvas.cpp": "report/canvas_test.cpp",
    "scheduling/place.cpp": "tests/property/cells_test.cpp",
    "solver/corridor_greedy.cpp": "tests/property/corridor_test.cpp",
    "solver/corridor_relaxation.cpp": "tests/property/corridor_test.cpp",
    "solver/corridor_repair.cpp": "tests/property/corridor_test.cpp",
}

# The build of the tests begins each source with these headers, so that the compiler does not notice
# when one is missing: (what is used, the headers that have it).
PRECOMPILED = [
    (re.compile(r"\bstd::(sort|find_if|min|max|clamp|shuffle|any_of|all_of)\("), ("algorithm",)),
    (re.compile(r"\bstd::ranges::(sort|find|find_if|min|max|any_of|all_of|count)\("), ("algorithm",)),
    (re.compile(r"\bstd::array\b"), ("array",)),
    (re.compile(r"\bstd::chrono::"), ("chrono", "thread")),
    (re.compile(r"\bstd::filesystem::"), ("filesystem",)),
    (re.compile(r"\bstd::function\b"), ("functional",)),
    (re.compile(r"\bstd::[io]?fstream\b"), ("fstream",)),
    (re.compile(r"\bstd::(cout|cerr)\b"), ("iostream",)),
    (re.compile(r"\bstd::(multi)?map\b"), ("map",)),
    (re.compile(r"\bstd::(unique_ptr|shared_ptr|make_unique|make_shared)\b"), ("memory",)),
    (re.compile(r"\bstd::(optional|nullopt)\b"), ("optional",)),
    (re.compile(r"\bstd::(multi)?set\b"), ("set",)),
    (re.compile(r"\bstd::[io]?stringstream\b"), ("sstream",)),
    (re.compile(r"\bstd::(string|to_string)\b"), ("string",)),
    (re.compile(r"\bstd::(variant|visit|get_if|holds_alternative)\b"), ("variant",)),
    (re.compile(r"\bstd::vector\b"), ("vector",)),
    (re.compile(r"\bfmt::(format|print)\("), ("fmt/format.h", "fmt/core.h", "spdlog/spdlog.h")),
    (re.compile(r"\bnlohmann::"), ("nlohmann/json.hpp", "nlohmann/json_fwd.hpp")),
    (re.compile(r"^(TEST|TEST_F|TEST_P)\(", re.MULTILINE), ("gtest/gtest.h", "gmock/gmock.h")),
    (re.compile(r"\bEXPECT_THAT\("), ("gmock/gmock.h",)),
]


@functools.lru_cache(maxsize=None)
def headers_of(path):
    """The headers of libraries that a source or header includes, itself or by headers of ours."""
    text = path.read_text()
    found = set(re.findall(r"^#include <([^>]+)>", text, re.MULTILINE))
    for name in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
        folders = (path.parent, ROOT / "src", ROOT / "include", ROOT / "tests", ROOT)
        header = next((f / name for f in folders if (f / name).is_file()), None)
        if header:
            found |= headers_of(header)
    return frozenset(found)


def missing_headers(path):
    text = path.read_text()
    for expression, headers in PRECOMPILED:
        use = expression.search(text)
        if use and not headers_of(path) & set(headers):
            yield use.group(0).strip(), headers[0]


def text_files():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if (path.suffix in SUFFIXES and path.is_file() and path != ITSELF
                    and not {"corpus", "golden", "node_modules", "__pycache__"} & set(path.parts)):
                yield path
    for path in sorted(ROOT.iterdir()):
        if path.suffix in SUFFIXES and path.is_file() and path.name not in ("LICENSE", ".git"):
            yield path


def main():
    problems = []
    count = 0
    for path in text_files():
        name = path.relative_to(ROOT)
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError:
            continue  # data
        count += 1
        for number, line in enumerate(lines, 1):
            for what, expression, suffixes in RULES:
                if (suffixes is None or path.suffix in suffixes) and expression.search(line):
                    problems.append(f"{name}:{number}: {what}")
        if path.suffix == ".hpp" and "#pragma once" not in lines:
            problems.append(f"{name}: no #pragma once")

    for floor in TESTED_FLOORS:
        for path in sorted((ROOT / "src" / floor).glob("*.cpp")):
            name = f"{floor}/{path.name}"
            if path.stem.endswith("_test") or path.stem == "main":
                continue
            has_test = path.with_name(path.stem + "_test.cpp").exists()
            if not has_test and name not in UNTESTED:
                problems.append(f"src/{name}: no {path.stem}_test.cpp beside it, and no reason in "
                                "UNTESTED of tests/lint/style.py")
            elif has_test and name in UNTESTED:
                problems.append(f"tests/lint/style.py: {name} has a test now; take it out of UNTESTED")
    tests = [*(ROOT / "src").rglob("*_test.cpp"), *(ROOT / "tests").rglob("*.cpp")]
    for path in sorted(tests):
        for use, header in missing_headers(path):
            problems.append(f"{path.relative_to(ROOT)}: uses {use}, but nothing includes <{header}>")
    for name in UNTESTED:
        if not (ROOT / "src" / name).exists():
            problems.append(f"tests/lint/style.py: UNTESTED names {name}, which is not there")

    print("\n".join(problems + [f"{count} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
