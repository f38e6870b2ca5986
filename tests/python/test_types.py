"""The stubs: mypy accepts a program that uses the package as it is meant, finds mistakes, and the stubs name what there is."""
import ast
import os
import pathlib
import subprocess
import sys

import pytest

import selfnorm

USE = """import numpy as np
import selfnorm
X, y = np.zeros((4, 2)), [0, 1, 0, 1]
model = selfnorm.SelfNormalizedClassifier(alpha=1.0).fit(X, y)
p: np.ndarray = model.predict_proba(X)
low, high = selfnorm.EnergyRegressor().fit(X, y).predict_dist(X).interval(0.9)
print(model.audit(X).smallest_eps, low - high, selfnorm.CRF().fit([["a"]], [["b"]]).predict_single(["a"])[0].upper())
selfnorm.normalize_head(p, None, p, within='much')
model.top(X, k='five')
selfnorm.laod('x')
"""


def test_mypy_accepts_what_is_right_and_finds_what_is_wrong(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(USE)
    package = pathlib.Path(selfnorm.__file__).parent.parent
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-incremental", "--cache-dir", os.devnull, "use.py"], cwd=tmp_path,
                          env={**os.environ, "MYPYPATH": str(package)}, capture_output=True, text=True)
    wrong = [int(line.split(":")[1]) for line in done.stdout.splitlines() if "error:" in line]
    assert wrong == [8, 9, 10], done.stdout


def test_the_stubs_name_what_there_is():
    stub = ast.parse(pathlib.Path(selfnorm.__file__).with_suffix(".pyi").read_text())
    named = {node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name[0] != "_"}
    assert set(named) == {name for name in selfnorm.__all__ if name != "__version__"}
    for name, node in named.items():
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.name not in ("__init__", "__getattr__"):
                    assert hasattr(getattr(selfnorm, name), member.name), f"{name}.{member.name}"
