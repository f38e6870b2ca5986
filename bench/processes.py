#!/usr/bin/env python3
"""Two processes of one thread against one process of two threads: the same training, the same model.

    speed     seconds of training per step (metrics.jsonl: the last step less the first), the median of PAIRS runs of each kind in
              turn; ratio = one process / two processes, so above 0.9 is at least 0.9 x the speed
    bits      model.safetensors of both, compared byte by byte

    bench/processes.py DATA_FOLDER --program build/release/selfnorm [--pairs 3] [--only lm]
where DATA_FOLDER has ud-english-ewt/ and wikitext-2/; Fashion-MNIST is Debian's dataset-fashion-mnist.
"""
import argparse, filecmp, json, os, statistics, subprocess, sys, tempfile

MNIST = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
TARGET = 0.9


def trainings(data, work, program):
    def generated(name, *more):
        path = f"{work}/{name}"
        subprocess.run([program, "data", "generate", "--out", path, "--quiet", *more], check=True, capture_output=True)
        return path

    plain = ["--hold-out", "0"]
    return {
        "classifier": ["train", "classifier", MNIST, "--optimiser", "lbfgs", "--iterations", "30", *plain],
        "lm": ["train", "lm", f"{data}/wikitext-2/valid.txt", "--epochs", "1", "--objective", "nce", *plain],
        "density": ["train", "density", generated("points.npy", "--toy", "pinwheel", "--rows", "20000"), "--steps", "600", *plain],
        "regressor": ["train", "regressor", generated("table.csv", "--regression", "mixed", "--rows", "8000"), "--epochs", "10",
                      "--ensemble", "1", *plain],
        "crf": ["train", "crf", f"{data}/ud-english-ewt/en_ewt-ud-train.conllu", "--optimiser", "lbfgs", "--iterations", "10", *plain],
    }


def seconds_a_step(command, processes, out, program):
    words = [program, *command, "--out", out, "--threads", str(3 - processes), "--overwrite", "--no-report", "--quiet"]
    if processes > 1:
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        words = ["mpirun", "-n", str(processes), "--oversubscribe", "--bind-to", "none", *root, *words]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr[-800:]}")
    lines = [json.loads(line) for line in open(f"{out}/metrics.jsonl")]
    return (lines[-1]["seconds"] - lines[0]["seconds"]) / (lines[-1]["step"] - lines[0]["step"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--program", default="build/release/selfnorm")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--only")
    given = parser.parse_args()
    program = os.path.abspath(given.program)
    missed = False
    with tempfile.TemporaryDirectory() as work:
        for family, command in trainings(given.data, work, program).items():
            if given.only not in (None, family):
                continue
            times = {1: [], 2: []}
            for _ in range(given.pairs):
                for processes in times:
                    times[processes].append(seconds_a_step(command, processes, f"{work}/{family}{processes}", program))
            one, two = (statistics.median(times[n]) for n in (1, 2))
            same = filecmp.cmp(f"{work}/{family}1/model.safetensors", f"{work}/{family}2/model.safetensors", shallow=False)
            good = one / two >= TARGET and same
            missed |= not good
            print(f"  {family:10}  one process {1e3 * one:9.3f} ms a step  two {1e3 * two:9.3f}  ratio {one / two:.2f}  target {TARGET}  "
                  f"{'the same bytes' if same else 'OTHER BYTES'}  {'MET' if good else 'MISSED'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
