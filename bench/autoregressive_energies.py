#!/usr/bin/env python3
"""Autoregressive energies against the densities that there are: -log p(x) = -sum_i log p(x_i | x_<i).

Each conditional is a regressor of column i on the columns before it: f(x_i; x_<i) over a mixture, trained by SNL
with its own b_i(x_<i), and normalised on test rows by quadrature on a line. The first column is a density. Both
are compared on the same rows with `train density`, by default and with --objective fit.

    bench/autoregressive_energies.py SELFNORM TABLE.csv TRAIN TEST     rows of the table, shuffled by seed 0

TABLE has numbers alone; numbers of few digits get uniform noise of their last digit (--noise COLUMN_WIDTH,...).
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import tempfile
import time


def call(program, *words):
    started = time.monotonic()
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 3):  # 3: the last good model of a training that diverged
        raise SystemExit(done.stderr)
    return done.stdout, time.monotonic() - started


def write(path, names, rows):
    path.write_text("\n".join([",".join(names)] + [",".join(f"{v:.9g}" for v in row) for row in rows]) + "\n")
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("train", type=int)
    parser.add_argument("test", type=int)
    parser.add_argument("--noise", default="", help="width of the noise of every column")
    parser.add_argument("--members", default="1", help="of the ensemble of every conditional")
    parser.add_argument("--skip", default="", help="chain or density: what is not run")
    given = parser.parse_args()
    lines = pathlib.Path(given.table).read_text().split("\n")
    rows = [[float(v) for v in re.split(r"[,\s]+", line.strip())] for line in lines if line.strip()]
    source = random.Random(0)
    source.shuffle(rows)
    widths = [float(w) for w in given.noise.split(",")] if given.noise else [0] * len(rows[0])
    rows = [[v + w * source.random() for v, w in zip(row, widths)] for row in rows]
    train, test = rows[: given.train], rows[given.train : given.train + given.test]
    names = [f"x{i}" for i in range(len(rows[0]))]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        a, b = write(place / "train.csv", names, train), write(place / "test.csv", names, test)
        for kind, more in (("fit", ["--objective", "fit"]), ("default", [])):
            if given.skip == "density":
                break
            _, seconds = call(given.program, "train", "density", a, "--out", place / kind, "--no-report",
                              "--threads", 1, *more)
            judged = json.loads(call(given.program, "evaluate", place / kind, b, "--json")[0])
            print(f"{kind}: NLL {judged['nll']:.4f} +- {judged['nll_error']:.4f}, {seconds:.0f} s", flush=True)
        total = spent = 0
        for i, name in enumerate(names):
            if given.skip == "chain":
                break
            a = write(place / f"train{i}.csv", names[: i + 1], [row[: i + 1] for row in train])
            b = write(place / f"test{i}.csv", names[: i + 1], [row[: i + 1] for row in test])
            family = ["density"] if i == 0 else ["regressor", "--target", name, "--ensemble", given.members]
            kind, model = family[0], place / f"model{i}"
            _, seconds = call(given.program, "train", kind, a, *family[1:], "--out", model, "--no-report",
                              "--threads", 1)
            judged = json.loads(call(given.program, "evaluate", model, b, "--json")[0])
            total, spent = total + judged["nll"], spent + seconds
            print(f"  {name}: NLL {judged['nll']:.4f}, {seconds:.0f} s", flush=True)
        print(f"chain of energies: NLL {total:.4f}, {spent:.0f} s", flush=True)


main()
