"""Several processes of mpirun, each with a communicator of mpi4py, train one model."""

import os
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
from mpi4py import MPI
import selfnorm
comm = MPI.COMM_WORLD
random = np.random.default_rng(0)
y = np.arange(900) % 3
X = (np.eye(3)[y] + 0.5 * random.normal(size=(900, 3))).astype(np.float32)
for name, model in (("classifier", selfnorm.SelfNormalizedClassifier(objective="penalty", comm=comm)),
                    ("density", selfnorm.EnergyDensity(energy="mlp:8", steps=20, comm=comm))):
    model.fit(X, y) if name == "classifier" else model.fit(X)
    model.save(f"{sys.argv[1]}/{name}-{comm.Get_size()}-{comm.Get_rank()}")
"""


def test_processes_train_the_same_model(tmp_path):
    pytest.importorskip("mpi4py")
    if not shutil.which("mpirun") or not os.path.exists(os.environ.get("SELFNORM_MPI_MODULE", "")):
        pytest.skip("no mpirun, or built without MPI")
    (tmp_path / "script.py").write_text(SCRIPT)
    for n in (1, 2):
        done = subprocess.run(["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", str(n),
                               sys.executable, "-m", "mpi4py", tmp_path / "script.py", tmp_path],
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    for name in ("classifier", "density"):
        one = (tmp_path / f"{name}-1-0").read_bytes()
        assert (tmp_path / f"{name}-2-0").read_bytes() == one
        assert (tmp_path / f"{name}-2-1").read_bytes() == one


def test_a_communicator_is_no_part_of_a_pickle(clouds):
    import pickle

    import selfnorm

    model = selfnorm.SelfNormalizedClassifier()
    model.comm = object()
    assert pickle.loads(pickle.dumps(model)).comm is None
