"""Jobs of threads under `ductile serve`: cores come and go with the virtual nodes."""

import pytest
from conftest import example  # noqa: F401
from programs import LIBRARIES, compiled, plainly, steps

if not (LIBRARIES / "libductile-threads-preload.so").exists():
    pytest.skip("libductile-threads-preload is not built", allow_module_level=True)


@pytest.fixture(scope="module")
def pils(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("pils"), "examples/threads/pils.c", "gcc", "-fopenmp", "-lm")


@pytest.mark.parametrize("nodes", ["2x1", "4x2"])  # as many as there are cores, and more
def test_a_job_of_threads_has_the_cores_of_its_nodes(cluster, pils, nodes):
    c = cluster(nodes, "equipartition")
    most = int(nodes[0])
    script = c.script(f"{pils} 0 100 say & until [ -e {c.folder}/done ]; do sleep 0.02; done; kill -USR1 $!; wait $!")
    job = c.submit("--kind", "threads", "-N", 1, "--min-nodes", 1, "--max-nodes", most, "-e", c.folder / "said",
                   script)
    c.wait_for_size(job, most)

    def wait_for_threads(count):
        c.wait_for(lambda: f" threads {count} " in "".join((c.folder / "said").read_text().splitlines()[-2:-1]),
                   f"a step with {count} threads")

    per_node = int(nodes[-1])
    wait_for_threads(most * per_node)
    other = c.submit("-N", 1, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    c.wait_for_size(job, most - 1)
    wait_for_threads((most - 1) * per_node)
    (c.folder / "go").touch()
    c.wait_for_size(job, most)
    wait_for_threads(most * per_node)
    (c.folder / "done").touch()
    assert [end["exit_code"] for end in c.wait_for_end(job, other)] == [0, 0]
    out = c.output(job)
    assert out == plainly(pils, steps(out), 100)
