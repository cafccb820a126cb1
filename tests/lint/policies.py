#!/usr/bin/python3
"""Every registered policy has a scenario in tests/scenarios and is named in docs/, every order in docs/policies.md.

The names are what the program itself says: `ductile policies --json`.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def main():
    program = os.environ.get("DUCTILE", "")
    if not os.path.exists(program):
        print("the program is not built; its path belongs in DUCTILE")
        return SKIPPED
    done = subprocess.run([program, "policies", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{program} policies --json: exit code {done.returncode}\n{done.stderr}")
        return 1
    table = json.loads(done.stdout)
    if isinstance(table, dict):
        table = table["policies"]

    used = set()
    for path in (ROOT / "tests" / "scenarios").rglob("*"):
        if path.is_file():
            used |= set(re.findall(r"^\s*policy\s+([\w-]+)", path.read_text(), re.MULTILINE))
    pages = "\n".join(path.read_text() for path in sorted((ROOT / "docs").rglob("*.md")))
    problems = []
    for name in (policy["name"] for policy in table):
        if name not in used:
            problems.append(f"policy {name}: no file in tests/scenarios has a line 'policy {name}'")
        if not re.search(rf"(?<![\w-])`?{re.escape(name)}`?(?![\w-])", pages):
            problems.append(f"policy {name}: no page in docs/ names it")
    orders = next(parameter["choices"] for parameter in table[0]["common_parameters"] if parameter["name"] == "order")
    of_orders = (ROOT / "docs" / "policies.md").read_text().partition("\n## Queue orders\n")[2].partition("\n## ")[0]
    in_rows = {name for row in re.findall(r"^\|(.*?)\|", of_orders, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    problems += [f"order {name}: no row in docs/policies.md" for name in orders if name not in in_rows]
    print("\n".join(problems + [f"{len(table)} policies, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
