#!/usr/bin/python3
"""No two headers, or sources outside of unnamed namespaces, define a type of one name in one namespace.

A linker keeps one of two such types' functions without a word, and the program then runs those of the other.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def types(text):
    """The types that are defined at the left margin, with their namespaces."""
    spaces, unnamed = [], False
    for line in text.splitlines():
        if re.match(r"namespace \{", line):
            unnamed = True
        elif line == "}  // namespace":
            unnamed = False
        elif opened := re.match(r"namespace ([\w:]+) \{", line):
            spaces.append(opened[1])
        elif re.match(r"\}  // namespace \w", line) and spaces:
            spaces.pop()
        elif not unnamed and (found := re.match(r"(?:struct|class|enum class|union) (\w+)(?!\w|::)[^;]*\{", line)):
            yield "::".join([*spaces, found[1]])


def main():
    where = collections.defaultdict(list)
    for folder in ("src", "include"):
        for path in sorted((ROOT / folder).rglob("*.?pp")):
            for name in types(path.read_text()):
                where[name].append(str(path.relative_to(ROOT)))
    problems = [f"{name} is defined in {' and in '.join(files)}: rename one"
                for name, files in sorted(where.items()) if len(files) > 1]
    print("\n".join(problems + [f"{len(where)} types, {len(problems)} problems"]))
    return 1 if problems or not where else 0


if __name__ == "__main__":
    sys.exit(main())
