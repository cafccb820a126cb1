from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, Union

import numpy
from numpy.typing import ArrayLike, NDArray

from ._ductile import Claim as Claim
from ._ductile import Error as Error
from ._ductile import Job as Job
from ._ductile import Queue as Queue
from ._ductile import Request as Request
from ._ductile import Timeline as Timeline
from ._ductile import View as View

__version__: str

Path = Union[str, PathLike[str]]
Option = Union[str, int, float, bool, PathLike[str], Sequence[Union[str, int, float]], None]

class Policy(Protocol):
    def schedule(self, view: View) -> None: ...

class Columns(dict[str, NDArray[Any]]):
    def __getattr__(self, name: str) -> NDArray[Any]: ...

class Workload:
    name: str
    nodes: int
    cores_per_node: int
    @classmethod
    def read(cls, path: Path, **options: Option) -> Workload: ...
    @classmethod
    def generate(cls, model: str, **options: Option) -> Workload: ...
    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, ArrayLike] | None = None,
        *,
        nodes_of_machine: int,
        cores_per_node: int = 1,
        name: str = "columns",
        overrun: Literal["extend", "kill"] = "extend",
        **more: ArrayLike,
    ) -> Workload: ...
    @property
    def columns(self) -> Columns: ...
    def write(self, path: Path) -> None: ...
    def __len__(self) -> int: ...

class Result:
    summary: dict[str, Any]
    jobs: Columns
    record: str | None

class Explanation:
    job: int
    text: str
    history: list[dict[str, Any]]
    now: list[dict[str, Any]]
    def __getattr__(self, name: str) -> Any: ...

def simulate(
    workload: Workload | Path | None = None, *, policy: str | Policy = "easy", **options: Option
) -> Result: ...
def explain(run: Result | Path, job: int) -> Explanation: ...
def replay(log: Result | Path, *, ask: bool = True) -> dict[str, Any]: ...
def policies() -> dict[str, str]: ...
def models() -> dict[str, str]: ...
