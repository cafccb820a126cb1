"""Ductile: simulate schedules of rigid, moldable, malleable and evolving jobs.

    import ductile
    result = ductile.simulate(generate="rigid:jobs=1000,nodes=100", policy="easy", seed=1)
    result.summary["mean_wait_s"], result.jobs["waiting_time"]

Options have the names and meanings of `ductile simulate`, with underscores: `--resize-delay` is
`resize_delay`. Times are in seconds. Errors are `ductile.Error`, in the words of the command line.
A policy is a name (see `policies()`), or an object with a method `schedule(self, view)`.
"""

import json as _json
import os as _os
import types as _types

from . import _ductile
from ._ductile import Claim, Error, Job, Queue, Request, Timeline, View

__version__ = _ductile.version
__all__ = ["Claim", "Error", "Explanation", "Job", "Queue", "Request", "Result", "Timeline", "View",
           "Workload", "explain", "models", "policies", "replay", "simulate"]

# What is of a command, not of a run.
_OF_THE_COMMAND = {
    "seeds": "call simulate once for each seed",
    "threads": "call simulate in several processes, or threads: it releases the GIL",
    "on": "use the command line", "tasks": "use the command line",
    "claim_timeout": "use the command line", "again": "use the command line",
    "json": "the summary is a dict", "quiet": "nothing is printed", "help": "see help(ductile)",
}


def _text(name, value):
    if isinstance(value, bool):
        raise Error(f"{name}: {value} is not possible; write the word that the command line has")
    if isinstance(value, (list, tuple)):
        return ",".join(_text(name, each) for each in value)
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() else repr(value)
    return _os.fspath(value) if isinstance(value, _os.PathLike) else str(value)


def _options(named):
    """As the command line has them."""
    texts = []
    for name, value in named.items():
        if name in _OF_THE_COMMAND:
            raise Error(f"{name}: is an option of the command line; {_OF_THE_COMMAND[name]}")
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        texts.append(option if value is True else f"{option}={_text(name, value)}")
    return texts


class _Columns(dict):
    """Columns by name; also as attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no column '{name}'; there are {', '.join(self)}") from None

    def __dir__(self):
        return [*super().__dir__(), *self]


def _in_words(columns, **words):
    import numpy
    for name, all_words in words.items():
        columns[name] = numpy.array(all_words)[columns[name]]
    return _Columns(columns)


class Workload:
    """The jobs of a run, with the truth that only the world knows, and the machine they are for."""

    def __init__(self, its):
        self._its = its

    @classmethod
    def read(cls, path, **options):
        """Reads a log (SWF, plain or as .gz, .xz or .zst). Options are those of `ductile simulate`
        that say how it is read (nodes, cores_per_node, jobs, ...) and what is changed in it
        (load, malleable, estimates, ..., with seed)."""
        return cls(_ductile.Workload.of_options(_options({"trace": path, **options})))

    @classmethod
    def generate(cls, model, **options):
        """Makes a workload by a model, as "rigid:jobs=1000,nodes=100" (see `models()`), and
        changes it as the options say; `seed` is that of all random numbers [1]."""
        return cls(_ductile.Workload.of_options(_options({"generate": model, **options})))

    @classmethod
    def from_columns(cls, columns=None, *, nodes_of_machine, cores_per_node=1, name="columns",
                     overrun="extend", **more):
        """Makes a workload of columns: anything that is indexed by name, as a dict of lists or numpy
        arrays, or a DataFrame; or of arguments.

        submit      when the job is submitted (s, 0 or later)
        runtime     how long it truly runs on `nodes` (s)
        nodes       the size it asks for
        walltime    the time requested (s); without: the run time
        number      by which it is known; without: from 1 on
        user, group numbers; 0: not known
        min, max    the smallest and largest size; without: `nodes`
        type        rigid, moldable, malleable, evolving or adaptive; without: malleable where min or
                    max differ from nodes, else rigid
        priority    higher goes first

        overrun: walltimes that are shorter than the run time are made as long ("extend"), or stay
        ("kill")."""
        given = {name: columns[name] for name in columns} if columns is not None else {}
        given.update(more)
        if overrun not in ("extend", "kill"):
            raise Error(f"overrun: there is no '{overrun}'; use extend or kill")
        return cls(_ductile.Workload.of_columns(given, nodes_of_machine, cores_per_node, name,
                                                overrun == "extend"))

    @property
    def columns(self):
        """Its jobs as numpy arrays, in the order of submission: those of `from_columns`."""
        return _in_words(self._its.columns(), type=_ductile.JOB_TYPES)

    def write(self, path):
        """Writes it as SWF (a name that ends in .swf), and what adapts beside it."""
        self._its.write(_os.fspath(path))

    name = property(lambda self: self._its.name, doc="Of the file or the model.")
    nodes = property(lambda self: self._its.nodes, doc="Of the machine.")
    cores_per_node = property(lambda self: self._its.cores_per_node, doc="Of the machine.")

    def __len__(self):
        return len(self._its)

    def __repr__(self):
        return f"<Workload {self.name}: {len(self)} jobs, {self.nodes} nodes>"


class Result:
    """What came of a run.

    summary     a dict, as summary.json has it
    jobs        numpy arrays by name, as the columns of jobs.csv; times are in seconds
    record      the log that was written, or None"""

    def __init__(self, summary, jobs, record):
        self.summary = summary
        self.jobs = jobs
        self.record = record

    def __repr__(self):
        its = self.summary
        return f"<Result {its['policy']}: {its['jobs']} jobs, mean wait {its['mean_wait_s']:.1f} s>"


def simulate(workload=None, *, policy="easy", **options):
    """Runs one policy on a workload, and returns a `Result`:

    summary     a dict, as summary.json has it
    jobs        numpy arrays by name, as the columns of jobs.csv: one row for each job that ended, in
                the order of submission; what a job does not have is NaN
    record      the log that was written with record="FILE", or None

    `workload` is a `Workload`, or the name of a log; or give generate="MODEL" or
    elastisim="FILE". `policy` is a name with parameters, as "mebf:theta=0.3", or an object with a
    method schedule(self, view). All other options are those of `ductile simulate`. C++ policies run
    without the GIL."""
    named = dict(options)
    given = None
    if isinstance(workload, Workload):
        given = workload._its
        for name in ("trace", "generate", "elastisim"):
            if name in named:
                raise Error(f"{name}: there is a workload already; give one of the two")
    elif workload is not None:
        if "trace" in named:
            raise Error("trace: there is a workload already; give one of the two")
        named["trace"] = workload
    own = None
    if isinstance(policy, str):
        named["policy"] = policy
    elif isinstance(policy, (list, tuple)):
        raise Error("policy: there are several; call simulate once for each policy")
    else:
        own = policy
        named["policy"] = "python:" + type(policy).__qualname__.replace("<locals>", "-").replace(",", ".")
    record = options.get("record")
    summary, jobs = _ductile.simulate(_options(named), given, own)
    jobs = _in_words(jobs, profile=_ductile.JOB_TYPES, final_state=_ductile.FINAL_STATES,
                     reason=_ductile.REASONS)
    return Result(_json.loads(summary), jobs, _os.fspath(record) if record else None)


class Explanation(_types.SimpleNamespace):
    """What was decided about a job, and why: `str()` has the words that `ductile explain` prints.

    job         its number
    text        these words
    history     what was decided, by time: dicts with time_s, text and the reason
    now         how it stood at the end, of one that still waits or runs; the same"""

    def __str__(self):
        return self.text


def explain(run, job):
    """What was decided about a job and why, of a run that was recorded: a `Result` of
    simulate(..., record="FILE"), or the name of such a file. `job` is its number."""
    log = run.record if isinstance(run, Result) else _os.fspath(run)
    if log is None:
        raise Error("this run was not recorded; simulate it with record=\"FILE\"")
    its = _json.loads(_ductile.explain(log, job, True))
    return Explanation(text=_ductile.explain(log, job, False), **its)


def replay(log, *, ask=True):
    """Checks that a recorded run gives the same decisions again, and says how many there were. With
    ask=False no policy is asked: what is recorded is folded."""
    return _ductile.replay(_os.fspath(log.record if isinstance(log, Result) else log), ask)


def policies():
    """The policies that there are, with what they do."""
    return _ductile.policies()


def models():
    """The models of workloads that there are."""
    return _ductile.models()
