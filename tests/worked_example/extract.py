#!/usr/bin/python3
"""Takes the worked example out of CONTRIBUTING.md: extract.py ROOT TARGET

Each fenced block of the section "Adding a policy" becomes the file below TARGET that the text before
it names in backquotes. The line of the registry is added to a copy of the table; the registry's
sources stand beside it.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"`((?:src|tests)/[\w/.]+\.(?:cpp|inc|txt))`(?:(?!```).)*?\n```\w*\n(.*?)```",
                   re.DOTALL)
EXPECTED = {
    "src/policies/headroom.cpp",
    "src/policies/headroom_test.cpp",
    "src/policies/policies.inc",
    "tests/scenarios/headroom.txt",
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    root, target = map(pathlib.Path, sys.argv[1:])
    page = (root / "CONTRIBUTING.md").read_text()
    blocks = dict(BLOCK.findall(page[page.index("## Adding a policy"):]))
    if set(blocks) != EXPECTED:
        sys.exit(f"CONTRIBUTING.md shows {sorted(blocks)}, expected {sorted(EXPECTED)}")
    table = root / "src/policies/policies.inc"
    blocks["src/policies/policies.inc"] = table.read_text() + blocks["src/policies/policies.inc"]
    for name in ("src/policies/registry.cpp", "src/policies/registry.hpp"):
        blocks[name] = (root / name).read_text()
    for name, text in blocks.items():
        write(target / name, text)


if __name__ == "__main__":
    main()
