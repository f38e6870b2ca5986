"""Builds selfnorm._core by CMake, the library's own code in it, and puts the shared libraries it needs beside it (selfnorm/lib), so
that a wheel needs no installed selfnorm, oneTBB, OpenBLAS, Highway, fmt or RE2. SELFNORM_BUILD=DIR takes a build folder that is there;
CMAKE_ARGS has more words for CMake."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent
OF_THE_SYSTEM = re.compile(r"(ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|z)\.so)")


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        folder = pathlib.Path(os.environ.get("SELFNORM_BUILD", ROOT / "build" / "python"))
        subprocess.check_call(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DPYTHON={sys.executable}", *([] if (
            folder / "CMakeCache.txt").exists() else ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON",
            "-DCMAKE_UNITY_BUILD_BATCH_SIZE=12", "-DSELFNORM_BUILD_PROGRAM=OFF", "-DSELFNORM_BUILD_TESTS=OFF"]),
            *shlex.split(os.environ.get("CMAKE_ARGS", ""))])
        subprocess.check_call(["cmake", "--build", folder, "--target", "selfnorm_python"])
        built = folder / "python" / "selfnorm"
        to = pathlib.Path(self.get_ext_fullpath(ext.name)).parent
        (to / "lib").mkdir(parents=True, exist_ok=True)
        core = next(built.glob("_core*.so"))
        for file in (core, built / "libselfnorm_runtime.so"):
            shutil.copy2(file, to / file.name)
        for line in subprocess.check_output(["ldd", core], text=True).splitlines():
            found = re.match(r"\s*(\S+) => (/\S+)", line)
            if found and not OF_THE_SYSTEM.match(found[1]):
                shutil.copy2(os.path.realpath(found[2]), to / "lib" / found[1])
        if shutil.which("strip"):
            subprocess.check_call(["strip", "--strip-unneeded", to / core.name])


setup(ext_modules=[Extension("selfnorm._core", [])], cmdclass={"build_ext": CMakeBuild})
