"""`ductile simulate --policy python:...`, and the files of the guide."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("ductile", reason="the Python module is not built")

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SMALL = ["simulate", "--generate", "rigid:jobs=300,nodes=50,max_size=20", "--json", "--quiet"]
PATIENCE = float(os.environ.get("DUCTILE_TEST_PATIENCE", 120))  # seconds, for what must come
MEASURED = {"policy", "run", "load_seconds", "simulate_seconds", "peak_rss_bytes"}


def call(program, *words, **options):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, **options)


def figures(done):
    assert done.returncode == 0, done.stderr
    return [{name: value for name, value in json.loads(line).items() if name not in MEASURED}
            for line in done.stdout.splitlines()]


def test_a_class_of_a_file(program, examples):
    mine = call(program, *SMALL, "--policy", f"python:{examples}/python/easy.py:Easy")
    assert figures(mine) == figures(call(program, *SMALL, "--policy", "easy"))


def test_parameters_seeds_and_threads(program, tmp_path):
    (tmp_path / "deep.py").write_text(
        "class Deep:\n"
        "    def __init__(self, depth):\n"
        "        self.depth = depth\n"
        "    def schedule(self, view):\n"
        "        view.start_and_backfill(self.depth)\n")
    words = ["--seeds", "1..3", "--threads", "2"]
    mine = call(program, *SMALL, *words, "--policy",
                f"python:{tmp_path}/deep.py:Deep,depth=5,order=sjf")
    assert figures(mine) == figures(
        call(program, *SMALL, *words, "--policy", "backfill:depth=5,order=sjf"))


@pytest.mark.parametrize("body, words", [
    ("        raise RuntimeError('no')", "bad.py:3: policy Bad: at .* s it raised RuntimeError: no"),
    ("        view.start(view.queue.first, 1000)", "bad.py:3: policy Bad: .*cannot start on 1000"),
    ("        return 1", "bad.py:2: policy Bad: its schedule returned something of type int"),
    ("        view.nothing()", "bad.py:3: .*AttributeError"),
    ("       )", "bad.py:3: .*SyntaxError"),
    ("        class Odd(Exception):\n            def __str__(self): raise KeyError\n        raise Odd()",
     r"bad.py:5: policy Bad: at .* s it raised Odd: \(its __str__ raised"),
])
def test_errors(program, tmp_path, body, words):
    (tmp_path / "bad.py").write_text(f"class Bad:\n    def schedule(self, view):\n{body}\n")
    done = call(program, *SMALL, "--policy", f"python:{tmp_path}/bad.py:Bad")
    assert done.returncode == 2 and re.search(words, done.stderr), done.stderr


@pytest.mark.parametrize("policy, words", [
    ("python", "write python:FILE.py:CLASS"),
    ("python:nothing.py:Easy", "nothing.py: there is no such file"),
    ("python:FILE:Hard", "it has no class 'Hard'; there are Easy"),
    ("python:FILE:Easy,depth=3", "look at its __init__"),
    ("python:FILE:Easy,depth", "a value is missing"),
    ("python:FILE:Easy,", "ends with a comma"),
    ("python:FILE:Easy,order=odd", "there is no 'odd'"),
    ("pyton:FILE:Easy", "there is no policy 'pyton'.*python:FILE.py:CLASS"),
])
def test_names(program, examples, policy, words):
    done = call(program, *SMALL, "--policy", policy.replace("FILE", f"{examples}/python/easy.py"))
    assert done.returncode == 2 and re.search(words, done.stderr, re.DOTALL), done.stderr


SEEDS = ["--seeds", "1..3"]
THREADS = [*SEEDS, "--threads", "3"]
TURNS = """
import os, pathlib, time

class Turns:
    def schedule(self, view):
        view.start_and_backfill()
        pathlib.Path(__file__).with_name(f"pid-{os.getpid()}").touch()
        if os.environ.get("BAD"):
            exec(compile(os.environ["BAD"], __file__, "exec"))
"""


def test_runs_go_to_processes(program, tmp_path):
    (tmp_path / "turns.py").write_text(TURNS)
    policies = ["--policy", f"python:{tmp_path}/turns.py:Turns", "--policy",
                f"python:{tmp_path}/turns.py:Turns,order=sjf", "--policy", "easy"]
    printed, files = [], []
    for threads in ("1", "3"):
        out = tmp_path / threads
        done = call(program, *SMALL, *policies, *SEEDS, "--threads", threads, "--out", out)
        printed.append(figures(done))
        files.append({str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*")
                      if path.is_file() and path.name not in ("summary.json", "results.db")})
    assert printed[0] == printed[1] and files[0] == files[1] and len(files[0]) > 9 * 7
    assert 1 + 1 < len(list(tmp_path.glob("pid-*"))) <= 1 + 3  # who is late finds nothing left to do


def test_what_is_told_once_is_told_once_by_all_processes(program, examples):
    done = call(program, "simulate", "--generate", "rigid:jobs=30,nodes=50,max_size=20", "--json", "--policy",
                f"python:{examples}/python/easy.py:Easy", "--policy", "power_aware", "--node-power", "idle=70,busy=200",
                "--corridor", "0..4000", *THREADS)
    assert done.returncode == 0 and done.stderr.count("never starts under policies that keep a corridor") == 1, done.stderr


@pytest.mark.parametrize("body, code, words", [
    ("raise RuntimeError('no mood')", 2, r"turns.py:1: policy Turns: .* it raised RuntimeError: no mood; mend it there\nTraceback"),
    ("os._exit(7)", 1, "the process of a run has ended with exit code 7"),
    ("os.kill(os.getpid(), 11)", 1, "the process of a run was ended by signal 11"),
])
def test_errors_in_processes(program, tmp_path, body, code, words):
    (tmp_path / "turns.py").write_text(TURNS)
    done = call(program, *SMALL, "--policy", f"python:{tmp_path}/turns.py:Turns", *THREADS, env={**os.environ, "BAD": body})
    assert done.returncode == code and re.search(words, done.stderr), done.stderr


@pytest.mark.parametrize("to_all", [True, False])
def test_ctrl_c_ends_processes(program, tmp_path, to_all):
    (tmp_path / "turns.py").write_text(TURNS)
    run = subprocess.Popen([program, *SMALL, "--policy", f"python:{tmp_path}/turns.py:Turns", *THREADS],
                           stderr=subprocess.PIPE, text=True, env={**os.environ, "BAD": "time.sleep(0.01)"},
                           start_new_session=True)
    while len(list(tmp_path.glob("pid-*"))) < 3:
        assert run.poll() is None
        time.sleep(0.01)
    (os.killpg if to_all else os.kill)(run.pid, signal.SIGINT)
    assert "stopped; the figures are of what was simulated until then" in run.communicate(timeout=PATIENCE)[1]
    assert run.returncode == 1
    for path in tmp_path.glob("pid-*"):
        assert not pathlib.Path("/proc", path.name.removeprefix("pid-")).exists()


def test_a_thread_of_the_file_holds_up_no_process(program, tmp_path):
    """Whoever holds Python's lock at the fork leaves it locked in the copy."""
    (tmp_path / "turns.py").write_text("""
import threading

def counts():
    while True:
        sum(range(1000))

threading.Thread(target=counts, daemon=True).start()
""" + TURNS)
    done = call(program, *SMALL, "--policy", f"python:{tmp_path}/turns.py:Turns", *THREADS, timeout=PATIENCE)
    assert len(figures(done)) == 3, done.stderr


def test_a_policy_that_forks_ends_with_its_pass(program, tmp_path):
    (tmp_path / "turns.py").write_text(TURNS)
    printed = []
    once = "if not hasattr(os, 'forked'): os.forked = os.fork() or True"
    for body, threads in (("", "1"), (once, "1"), (once, "3")):
        done = call(program, *SMALL, "--policy", f"python:{tmp_path}/turns.py:Turns", *SEEDS, "--threads", threads,
                    env={**os.environ, "BAD": body}, timeout=PATIENCE)
        printed.append(figures(done))
    assert len(printed[0]) == 3 and printed[0] == printed[1] == printed[2]


def test_what_a_policy_prints_is_written_once(program, tmp_path):
    (tmp_path / "turns.py").write_text("print('loaded')\n" + TURNS)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    printed = []
    for threads in ("1", "3"):
        done = call(program, *SMALL, "--policy", f"python:{tmp_path}/turns.py:Turns", *SEEDS, "--threads", threads,
                    env={**environment, "BAD": "print('pass')"}, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        # A line of a process may come in the middle of the figures, which are longer than what a pipe keeps together.
        printed.append((done.stdout.count("loaded\n"), done.stdout.count("pass\n")))
    assert printed[0] == printed[1] and printed[0][0] == 1 and printed[0][1] > 300


def test_records_replay_with_and_without_python(program, examples, tmp_path):
    log = tmp_path / "run.log"
    policy = tmp_path / "mine.py"
    policy.write_text((examples / "python/easy.py").read_text())
    figures(call(program, *SMALL, "--policy", f"python:{policy}:Easy", "--record", str(log)))
    asked = call(program, "replay", str(log))
    assert asked.returncode == 0 and "asked again and folded" in asked.stdout, asked.stderr
    policy.unlink()
    done = call(program, "replay", str(log))
    assert done.returncode == 2 and "--fold" in done.stderr
    folded = call(program, "replay", "--fold", str(log))
    assert folded.returncode == 0 and "300 decisions" in folded.stdout, folded.stderr
    assert call(program, "explain", "5", "--log", str(log), "--history").returncode == 0


def test_a_program_without_the_module(program, tmp_path):
    alone = tmp_path / "ductile"
    alone.write_bytes(pathlib.Path(program).read_bytes())
    alone.chmod(0o755)
    done = call(alone, *SMALL, "--policy", "python:x.py:X")
    assert done.returncode == 2 and "built without Python" in done.stderr
    assert "pybind11-dev" in done.stderr


def test_the_tutorial_runs(tmp_path, examples):
    """The cells of the notebook, one after the other."""
    notebook = json.loads((examples / "python/tutorial.ipynb").read_text())
    assert notebook["nbformat"] == 4 and not any(cell.get("outputs") for cell in notebook["cells"])
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    for name in ("easy.py", "malleable.py"):
        (tmp_path / name).symlink_to(examples / "python" / name)
    (tmp_path / "tutorial.py").write_text("\n\n".join(cells))
    done = subprocess.run([sys.executable, "-B", "tutorial.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "decisions are the same" in done.stdout, done.stderr


def test_the_pages_of_the_modules_are_as_the_modules(tmp_path):
    """docs/python: `scripts/python-reference` writes them anew."""
    done = subprocess.run([sys.executable, "-B", SOURCE / "scripts/python-reference", tmp_path], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    pages = {page.name: page.read_text() for page in tmp_path.iterdir()}
    assert pages == {page.name: page.read_text() for page in (SOURCE / "docs/python").iterdir()}


def test_the_guide_runs(tmp_path):
    """The blocks of docs/guide/python.md, one after the other."""
    pytest.importorskip("pandas")
    guide = (SOURCE / "docs/guide/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    log = SOURCE / "examples/kth-sp2-first-5000.swf.xz"
    (tmp_path / "kth.swf.xz").symlink_to(log)
    (tmp_path / "guide.py").write_text("\n".join(blocks))
    subprocess.run([sys.executable, "-B", "guide.py"], cwd=tmp_path, check=True,
                   capture_output=True)
