#!/usr/bin/env python3
"""Language models on WikiText-2, order 5, full vocabulary, one row per objective: the table of docs/measured/large-output.md.

    bench/wikitext2.py DATA_FOLDER OUT_FOLDER --program build/release/selfnorm [--rows exact,snl] [--jobs 2]
DATA_FOLDER has train.txt, valid.txt and test.txt. Every row is trained by one thread, and its training time is processor
time, so that rows trained side by side, or on a busy machine, can be compared. A row that is in OUT_FOLDER is not trained
again. Perplexities and log Z are those of the test text; words per second are measured one row at a time, at the end.
"""
import argparse, json, math, os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

SHAPE = ["--order", "5", "--min-count", "1", "--dimension", "64", "--hidden", "64"]
NOISE = ["--samples", "500", "--epochs", "7"]
ROWS = {
    "exact": ["--objective", "exact", "--epochs", "3"],
    "penalty": ["--objective", "penalty", "--epochs", "3"],
    "sampled": ["--objective", "sampled", "--epochs", "3"],
    "nce, b = 0": ["--objective", "nce", "--normalizer", "zero", *NOISE],
    "nce, constant b": ["--objective", "nce", "--normalizer", "constant", *NOISE],
    "snl, b = 0": ["--objective", "snl", "--normalizer", "zero", *NOISE],
    "snl, constant b": ["--objective", "snl", "--normalizer", "constant", *NOISE],
    "snl, linear b(h)": ["--objective", "snl", "--normalizer", "linear", *NOISE],
    "snl, mlp b(h)": ["--objective", "snl", "--normalizer", "mlp", *NOISE],
    "ranking-nce": ["--objective", "ranking-nce", *NOISE],
    "hierarchical": ["--objective", "hierarchical", "--epochs", "5"],
}


def folder(out, row):
    return os.path.join(out, row.replace(",", "").replace("(h)", "").replace(" = ", "").replace(" ", "-"))


def train(given, row):
    run = folder(given.out, row)
    if os.path.exists(f"{run}/seconds.json"):
        return
    command = [given.program, "train", "lm", f"{given.data}/train.txt", "--valid", f"{given.data}/valid.txt", *SHAPE, *ROWS[row],
               "--threads", "1", "--out", run, "--overwrite", "--json", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    with open(f"{run}/seconds.json", "w") as file:
        json.dump({"cpu": usage.ru_utime + usage.ru_stime, "reason": json.loads(output)["reason"]}, file)
    print(f"trained {row}: {usage.ru_utime:.0f} s", file=sys.stderr)


def evaluate(given, row):
    run = folder(given.out, row)
    out = subprocess.run([given.program, "evaluate", run, f"{given.data}/test.txt", "--timing", "--json", "--quiet"],
                         capture_output=True, text=True, check=True).stdout
    report = json.loads(out)
    report["cpu"] = json.load(open(f"{run}/seconds.json"))["cpu"]
    return report


def line(row, r, exact_cpu):
    log_z = r["log_z"]
    cells = [row, f"{r['perplexity_exact']:.1f}", f"{r['perplexity_raw']:.1f}",
             f"{r['perplexity_amortised']:.1f}" if "perplexity_amortised" in r else "",
             f"{log_z['mean']:+.3f}", f"{log_z['rms']:.3f}", f"{r['cpu']:.0f}", f"{exact_cpu / r['cpu']:.1f}",
             f"{r['words_per_second']:,.0f}", f"{r['words_per_second_exact']:,.0f}"]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--program", default="build/release/selfnorm")
    parser.add_argument("--rows", default=";".join(ROWS), help="separated by semicolons")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    rows = given.rows.split(";")
    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(lambda row: train(given, row), rows))
    reports = {row: evaluate(given, row) for row in rows}
    exact_cpu = reports["exact"]["cpu"] if "exact" in reports else math.nan
    print("| objective | ppl exact | ppl raw | ppl amortised | mean log Z | rms log Z | training s | x faster than exact | "
          "words/s raw | words/s exact |\n|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(line(row, reports[row], exact_cpu))


if __name__ == "__main__":
    main()
