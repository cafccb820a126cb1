"""Policies by the name of a file or module and a class."""

import importlib
import importlib.util
import pathlib
import sys

from ._ductile import Error


def _value(text):
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def policy(what, parameters):
    """`what` is FILE.py:CLASS, or MODULE:CLASS; the parameters are given to the class, numbers as
    such."""
    source, _, name = what.rpartition(":")
    if not source or not name:
        raise Error(f"policy python:{what}: no class is named; write python:FILE.py:CLASS")
    if source.endswith(".py"):
        path = pathlib.Path(source).resolve()
        if not path.is_file():
            raise Error(f"{source}: there is no such file; write python:FILE.py:CLASS")
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        try:
            module = importlib.import_module(source)
        except ModuleNotFoundError as error:
            raise Error(f"policy python:{what}: {error}; write python:FILE.py:CLASS, or set "
                        "PYTHONPATH") from error
    its = getattr(module, name, None)
    if not isinstance(its, type):
        classes = [each for each, value in vars(module).items()
                   if isinstance(value, type) and hasattr(value, "schedule")]
        raise Error(f"{source}: it has no class '{name}'; " +
                    (f"there are {', '.join(classes)}" if classes else "it has no policy"))
    try:
        return its(**{key: _value(value) for key, value in parameters.items()})
    except TypeError as error:
        raise Error(f"policy python:{what}: {error}; look at its __init__") from error
