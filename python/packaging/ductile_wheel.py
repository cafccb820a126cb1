"""What pip calls to make a wheel of the module (PEP 517): CMake builds it, in build/pip, or
$DUCTILE_BUILD names the folder of a build that is there. Nothing is downloaded."""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMMARY = "An adaptive batch system for HPC clusters: its simulator as a module"


def version():
    return re.search(r"^ *VERSION ([\d.]+)$", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def metadata():
    return (f"Metadata-Version: 2.1\nName: ductile\nVersion: {version()}\nSummary: {SUMMARY}\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy\n")


def install(folder):
    """The module's files."""
    build = os.environ.get("DUCTILE_BUILD")
    if not build:
        build = str(ROOT / "build/pip")
        subprocess.run(["cmake", "-S", str(ROOT), "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                        "-DDUCTILE_WITH_PYTHON=ON", "-DDUCTILE_UNITY=ON", "-DDUCTILE_BUILD_TESTS=OFF",
                        "-DDUCTILE_BUILD_RUNTIME=OFF", f"-DPython_EXECUTABLE={sys.executable}"],
                       check=True)
        subprocess.run(["cmake", "--build", build, "--parallel", str(os.cpu_count() or 1),
                        "--target", "_ductile", "ductile_python"], check=True)
    subprocess.run(["cmake", "--install", build, "--component", "python", "--prefix", folder],
                   check=True)
    return next(pathlib.Path(folder).rglob("ductile/__init__.py")).parent


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    name = f"ductile-{version()}-{tag}-{tag}-{platform}.whl"
    info = f"ductile-{version()}.dist-info"
    with tempfile.TemporaryDirectory() as folder:
        files = {f"ductile/{path.name}": path.read_bytes() for path in sorted(install(folder).iterdir())
                 if path.is_file()}
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: ductile_wheel\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}-{tag}-{platform}\n").encode()
    rows = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(content)}\n")
    files[f"{info}/RECORD"] = ("".join(rows) + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    return name
