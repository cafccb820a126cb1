"""The module that this build made, which PYTHONPATH names."""

import os
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

try:
    import ductile  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "ductile":
        raise
    collect_ignore_glob = []

    def pytest_collection_modifyitems(items):
        for item in items:
            item.add_marker(pytest.mark.skip(
                reason="the Python module is not built (scripts/setup --python)"))


@pytest.fixture
def examples():
    return SOURCE / "examples"


@pytest.fixture
def program():
    return os.environ.get("DUCTILE", str(SOURCE / "build/plain/ductile"))
