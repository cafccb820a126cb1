"""What the tests of the command line share: they run the program $DUCTILE in the root of the sources."""

import contextlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RIGID_1000 = "tests/data/rigid_1000.swf.xz"
RIGID_5000 = "tests/data/rigid_5000.swf.xz"


class Ductile:
    program = os.environ.get("DUCTILE", "ductile")

    def run(self, *arguments, **options):
        """The finished process; fails if a sanitizer had something to say."""
        done = subprocess.run([self.program, *map(str, arguments)], cwd=ROOT, text=True,
                              capture_output=True, **options)
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        return done

    def output(self, *arguments, **options):
        """What it prints when all is well."""
        done = self.run(*arguments, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def objects(self, *arguments, **options):
        """The objects it prints, one per line."""
        return [json.loads(line) for line in self.output(*arguments, **options).splitlines()]

    def start(self, *arguments):
        return subprocess.Popen([self.program, *map(str, arguments)], cwd=ROOT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def page_data(path):
    """What a report page is given to draw: PageData of web/src/data.ts."""
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())
    return json.loads(data)


@pytest.fixture
def ductile():
    return Ductile()


def files_of(folder):
    """name -> bytes of all files below the folder; of results.db what is in it."""
    return {str(path.relative_to(folder)): dump(path) if path.name == "results.db" else path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def dump(path):
    """All that is in a database, in the order of its keys."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        return "\n".join(database.iterdump())
