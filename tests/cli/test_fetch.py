"""ductile workload fetch, from a server on this machine."""

import gzip
import http.server
import lzma
import re
import shutil
import threading

import pytest

from conftest import RIGID_1000, ROOT

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")

LOG = gzip.compress(lzma.decompress((ROOT / RIGID_1000).read_bytes()), mtime=0)


class Server:
    """Has the files of `files`. The next answer ends after `cut` bytes; ranges may not be possible."""

    def __init__(self):
        self.files, self.cut, self.ranges, self.asked = {}, None, True, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                begin = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
                outer.asked.append((self.path, int(begin[1]) if begin else 0))
                content = outer.files.get(self.path)
                if content is None:
                    return self.send_error(404)
                first = int(begin[1]) if begin and outer.ranges else 0
                if first > 0 and first >= len(content):
                    return self.send_error(416)
                self.send_response(206 if first else 200)
                if first:
                    self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
                self.send_header("Content-Length", str(len(content) - first))
                self.end_headers()
                cut, outer.cut = outer.cut, None
                self.wfile.write(content[first:cut])
                return None

            def log_message(self, *arguments):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_log_comes_whole(ductile, server, tmp_path):
    server.files["/some/where.gz"] = LOG
    out = tmp_path / "mine.swf.gz"
    text = ductile.output("workload", "fetch", "mine", "--url", server.url + "some/where.gz",
                          "--out", out)
    assert "mine.swf.gz: fetched from http://127.0.0.1" in text and "no sum of it is known" in text
    assert out.read_bytes() == LOG and files_in(tmp_path) == ["mine.swf.gz"]
    again = ductile.output("workload", "fetch", "mine", "--url", server.url + "some/where.gz",
                           "--out", out)
    assert "is there already" in again and len(server.asked) == 1


def test_a_mirror_has_the_folders_of_the_archive(ductile, server, tmp_path):
    server.files["/pwa/l_sdsc_blue/SDSC-BLUE-2000-4.2-cln.swf.gz"] = LOG
    ductile.output("workload", "fetch", "sdsc-blue", "--url", server.url + "pwa/", "--out",
                   tmp_path / "x.swf.gz")
    assert (tmp_path / "x.swf.gz").read_bytes() == LOG


@pytest.mark.parametrize("ranges", [True, False])
def test_half_a_download_goes_on(ductile, server, tmp_path, ranges):
    server.files["/x.gz"], server.cut, server.ranges = LOG, 1000, ranges
    call = ["workload", "fetch", "x", "--url", server.url + "x.gz", "--out", tmp_path / "x.swf.gz"]
    done = ductile.run(*call)
    assert done.returncode == 1 and "call again" in done.stderr
    assert files_in(tmp_path) == ["x.swf.gz.part", "x.swf.gz.part.from"]
    ductile.output(*call)
    assert (tmp_path / "x.swf.gz").read_bytes() == LOG and files_in(tmp_path) == ["x.swf.gz"]
    assert server.asked[1] == ("/x.gz", 1000)
    assert len(server.asked) == (2 if ranges else 3)


def test_a_part_that_is_the_whole_becomes_the_file(ductile, server, tmp_path):
    server.files["/x.gz"] = LOG
    (tmp_path / "x.swf.gz.part").write_bytes(LOG)
    (tmp_path / "x.swf.gz.part.from").write_text(server.url + "x.gz\n")
    ductile.output("workload", "fetch", "x", "--url", server.url + "x.gz", "--out",
                   tmp_path / "x.swf.gz")
    assert (tmp_path / "x.swf.gz").read_bytes() == LOG and files_in(tmp_path) == ["x.swf.gz"]


@pytest.mark.parametrize("other", ["http://127.0.0.1/other.gz\n", None])
def test_a_part_of_another_address_is_not_gone_on_with(ductile, server, tmp_path, other):
    server.files["/x.gz"] = LOG
    (tmp_path / "x.swf.gz.part").write_bytes(LOG[:50] + b"x" * 100)
    if other:
        (tmp_path / "x.swf.gz.part.from").write_text(other)
    ductile.output("workload", "fetch", "x", "--url", server.url + "x.gz", "--out",
                   tmp_path / "x.swf.gz")
    assert (tmp_path / "x.swf.gz").read_bytes() == LOG and files_in(tmp_path) == ["x.swf.gz"]
    assert server.asked == [("/x.gz", 0)]


def test_nothing_is_asked_for_what_cannot_be_written(ductile, server, tmp_path):
    server.files["/x.gz"] = LOG
    done = ductile.run("workload", "fetch", "x", "--url", server.url + "x.gz", "--out",
                       tmp_path / "nowhere/m.swf")
    assert done.returncode == 2
    assert "m.swf: cannot be written: No such file" in done.stderr and "--out" in done.stderr
    assert server.asked == [] and files_in(tmp_path) == []


@pytest.mark.parametrize("content, message", [
    (b"<html>We moved.</html>\n", "is not a number"),
    (b"", "has no job"),
    (b"; Version: 2.2\n", "has no job"),
    (gzip.compress(gzip.decompress(LOG) + b"1 2 3\n"), "the line ends before it"),
    (LOG[:-100], "ends too early"),
    (LOG[:500] + b"x" + LOG[501:], "damaged"),
], ids=["page", "empty", "header", "last line", "cut", "damaged"])
def test_what_is_no_log_does_not_stay(ductile, server, tmp_path, content, message):
    server.files["/x.gz"] = content
    done = ductile.run("workload", "fetch", "x", "--url", server.url + "x.gz", "--out",
                       tmp_path / "x.swf.gz")
    assert done.returncode in (1, 2) and message in done.stderr
    assert files_in(tmp_path) == []


def test_a_wrong_sum_is_told(ductile, server, tmp_path):
    server.files["/l_ricc/RICC-2010-2.swf.gz"] = LOG
    done = ductile.run("workload", "fetch", "RICC", "--url", server.url, "--out",
                       tmp_path / "x.swf.gz")
    assert done.returncode == 1 and "is not RICC-2010-2: it unpacks to" in done.stderr
    assert files_in(tmp_path) == []


def test_what_cannot_be_fetched(ductile, server, tmp_path):
    done = ductile.run("workload", "fetch", "x", "--url", server.url + "nowhere", "--out",
                       tmp_path / "x")
    assert done.returncode == 1 and "cannot be fetched" in done.stderr
    for arguments, message in [
            (["nowhere"], "no log is known as 'nowhere'; there are NASA-iPSC"),
            (["KTH"], "several logs begin with 'KTH'"),
            (["x", "--url", "file:///etc/passwd"], "is no address"),
            (["a/b", "--url", server.url + "x"], "is no name of a file"),
            ([], "--list")]:
        done = ductile.run("workload", "fetch", *arguments)
        assert done.returncode == 2 and message in done.stderr
    assert files_in(tmp_path) == []


def test_the_names_are_listed(ductile):
    lines = ductile.output("workload", "fetch", "--list").splitlines()
    assert ("KTH-SP2-1996-2            https://www.cs.huji.ac.il/labs/parallel/workload/l_kth_sp2/"
            "KTH-SP2-1996-2.swf.gz") in lines


def test_a_known_log_has_its_sum(ductile, server, tmp_path, shared_trace):
    server.files["/l_nasa_ipsc/NASA-iPSC-1993-3.1-cln.swf.gz"] = shared_trace
    text = ductile.output("workload", "fetch", "nasa", "--url", server.url, "--out",
                          tmp_path / "nasa.swf.gz")
    assert "its sum is right" in text


@pytest.fixture
def shared_trace():
    import os
    import pathlib
    folder = os.environ.get("DUCTILE_SHARED_DIR")
    path = pathlib.Path(folder or "no") / "traces/NASA-iPSC-1993-3.1-cln.swf.gz"
    if not path.exists():
        pytest.skip("the log is not at hand (DUCTILE_SHARED_DIR)")
    return path.read_bytes()
