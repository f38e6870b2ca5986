#!/usr/bin/env python3
"""Builds selfnorm._core for this Python with g++ and ninja alone, where CMake packages of the dependencies are missing.

    build.py DEPS OUT [PAGE]     DEPS has include/ and lib/ of oneTBB, OpenBLAS, Highway, fmt, RE2 and the rest; OUT becomes a package
                                 folder; with PAGE, the page.html of a build, the program is built too: OUT/bin/selfnorm
"""
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

deps, out = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
root = pathlib.Path(__file__).resolve().parents[3]
work, package = out / "objects", out / "selfnorm"
work.mkdir(parents=True, exist_ok=True)
package.mkdir(exist_ok=True)
try:
    import pybind11

    headers = pybind11.get_include()
except ImportError:  # torch brings its own
    import torch

    headers = str(pathlib.Path(torch.__file__).parent / "include")

# What CMake says for single files (src/CMakeLists.txt, runtime/CMakeLists.txt).
defined = {"torchscript.cc": '-DSELFNORM_HAS_TORCH=0 -DSELFNORM_LIBRARY=\\"/usr/lib\\" -DSELFNORM_LIBRARY_FROM_PROGRAM=\\"../lib\\"',
           "device.cc": '-DSELFNORM_LIBRARY=\\"/usr/lib\\"',
           "scorer.cc": "-ffp-contract=off", "kernels_avx2.cc": "-mavx2 -mfma", "kernels_avx512.cc": "-mavx2 -mfma -mavx512f"}
page = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
OF_THE_PROGRAM = ("cli", "experiments", "page")
BATCH = 6  # of files in a unit: those of CMake's units (CMakePresets.json: 12), in halves, so that no two files meet that do not meet there
units, alone = {}, []
for path in sorted((path for top in ("src", "runtime/src", "cli", "experiments") for path in root.glob(f"{top}/**/*.cc")), key=str):
    rung = path.relative_to(root).parts[:-1]
    if "neural" in rung or (page is None and (rung[0] in OF_THE_PROGRAM or "page" in rung)):
        continue
    if "HWY_TARGET_INCLUDE" in path.read_text() or path.name in defined or rung[0] == "runtime" or path == root / "cli/main.cc":
        alone.append(path)
    else:
        name = rung[0] if rung[0] in OF_THE_PROGRAM else "_".join(rung[1:3] if rung[1] == "family" else rung[1:2])
        units.setdefault(name, []).append(path)
sources = [(path.with_suffix("").relative_to(root).as_posix().replace("/", "_"), path, defined.get(path.name, "")) for path in alone]
for name, paths in units.items():
    for i in range(0, len(paths), BATCH):
        unit = work / f"{name}_{i}.cc"
        unit.write_text("".join(f'#include "{path}"\n' for path in paths[i:i + BATCH]))
        sources.append((unit.stem, unit, ""))
sources.append(("core", root / "python/src/core.cc", f"-isystem {headers} -I{sysconfig.get_paths()['include']} -fvisibility=hidden"))
flags = f"-std=c++20 -O2 -DNDEBUG -w -fPIC -DFMT_SHARED -isystem {deps}/include -isystem {deps}/include/eigen3 -isystem {deps}/include/openblas-pthread -I{root} -I{root}/include -I{root}/src -I{root}/runtime/include -I{root}/runtime/src -I{root}/cli -I{work}"
core = package / ("_core" + sysconfig.get_config_var("EXT_SUFFIX"))
in_program = [name for name, _, _ in sources if name.split("_")[0] in OF_THE_PROGRAM]
objects = " ".join(f"{name}.o" for name, _, _ in sources if name not in in_program)
libraries = " ".join(f"{deps}/lib/lib{name}.so" for name in ("tbb", "openblas", "hwy", "fmt", "re2", "z"))
rules = [f"rule cc\n  command = g++ {flags} $own -c $in -o $out", f"rule so\n  command = g++ -shared $in {libraries} -ldl -lpthread "
         "-Wl,--exclude-libs,ALL -Wl,--disable-new-dtags -Wl,-rpath,$origin/lib -o $out", "origin = \\$$ORIGIN"]
rules += [f"build {name}.o: cc {path}\n  own = {own}" for name, path, own in sources]
rules.append(f"build {core}: so {objects}")
runtime = " ".join(f"{name}.o" for name, path, _ in sources if "runtime" in path.parts)
rules.append(f"build {package}/libselfnorm_runtime.so: so {runtime}")
if page:
    (work / "version.h").write_text('#pragma once\nnamespace selfnorm::cli { inline constexpr const char* kVersion = "0.3.0"; }\n')
    (out / "bin").mkdir(exist_ok=True)
    rules.append(f"build page_S.o: cc {root}/src/page/page.S\n  own = -x assembler-with-cpp -DSELFNORM_PAGE=\\\"{page}\\\"")
    rules.append(f"rule program\n  command = g++ $in {libraries} -ldl -lpthread -Wl,-rpath,{deps}/lib -o $out")
    rules.append(f"build {out}/bin/selfnorm: program {' '.join(name + '.o' for name, _, _ in sources if name != 'core')} page_S.o")
(work / "build.ninja").write_text("\n".join(rules) + "\n")
code = subprocess.call(["ninja", "-C", work, "-k", "0"], stdout=open(out / "log", "w"), stderr=subprocess.STDOUT)
if code:
    print("\n".join(line[:300] for line in (out / "log").read_text().splitlines() if not line.startswith("[")))
    sys.exit(code)
for path in [*(root / "python/selfnorm").glob("*.py*"), root / "python/selfnorm/py.typed"]:
    shutil.copy2(path, package)
(package / "lib").mkdir(exist_ok=True)
for path in (deps / "lib").glob("*.so*"):
    shutil.copy2(path, package / "lib", follow_symlinks=True)
print(f"built {core} with {len(sources)} units, {os.cpu_count()} cores")
