#!/usr/bin/env python3
"""What run.sh needs where Debian's packages are missing, as one archive: the headers that a build used (ninja knows them), the shared
libraries of the extension, and pytest.

    pack.py BUILD DEPS.tar.xz     BUILD: a finished build folder with the Python package
"""
import os
import pathlib
import re
import subprocess
import sys
import tarfile

build, out = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
there = set(subprocess.check_output(["dpkg", "-L", "libc6-dev", "linux-libc-dev", "libcrypt-dev"], text=True).split("\n"))
headers = {line.strip() for line in subprocess.check_output(["ninja", "-C", build, "-t", "deps"], text=True).split("\n")
           if line.startswith("    /usr/include/")}
whole = [path for name in ("tbb", "oneapi", "hwy", "fmt", "re2", "nlohmann", "fast_float", "CLI") for path in pathlib.Path("/usr/include", name).rglob("*")]
headers |= {str(path) for path in whole if path.is_file()}  # another compiler may want others of these
headers = {path for path in headers if path not in there and not re.search(r"/c\+\+/|/python3|/pybind11/|/gtest/|/rapidcheck", path)}
core = next((build / "python/selfnorm").glob("_core*.so"))
of_the_system = re.compile(r"(ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so)")
with tarfile.open(out, "w:xz", dereference=True) as archive:
    for path in sorted(headers):
        archive.add(path, "deps/include/" + re.sub(r"^/usr/include/(x86_64-linux-gnu/)?", "", path))
    for name, path in re.findall(r"(\S+) => (/\S+)", subprocess.check_output(["ldd", core], text=True)):
        if not of_the_system.match(name):
            archive.add(os.path.realpath(path), f"deps/lib/{name}")
            if re.match(r"lib(tbb|openblas|hwy|fmt|re2|z)\.so", name):  # as the linker looks for it
                link = tarfile.TarInfo("deps/lib/" + name.split(".so")[0] + ".so")
                link.type, link.linkname = tarfile.SYMTYPE, name
                archive.addfile(link)
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "py.py", "pytest-7.2.1.dist-info"):
        path = pathlib.Path("/usr/lib/python3/dist-packages", name)
        if path.exists():
            archive.add(path, f"deps/python/{name}", filter=lambda info: None if "__pycache__" in info.name else info)
print(f"{out}: {len(headers)} headers, {os.path.getsize(out) / 2**20:.1f} MiB")
