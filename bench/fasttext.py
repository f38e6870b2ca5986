#!/usr/bin/env python3
"""selfnorm's bags of embeddings against fastText (Debian package fasttext): same text, dimension, epochs and threads.

    speed     seconds per epoch, from the difference of a short and a long run, so that reading and writing do not count:
              fastText `ns` with its 5 negatives against snl and nce with as many noise classes (shared by a minibatch)
    quality   test NLL of fastText `softmax` and `hs` (from predict-prob; a label it gives no probability counts 1e-5)
              against the exact NLL of a selfnorm model trained in no more wall time, all set-up of both counted
              (of which a tenth of the data is held out to calibrate c for raw scores)

    bench/fasttext.py DATA_FOLDER --program build/release/selfnorm
where DATA_FOLDER has clinc150/ and wordnet-hypernym/ (whose features become the words of a text).
"""
import argparse, json, math, os, subprocess, sys, tempfile, time

DIMENSION = 100


def clinc(folder, split):
    name = {"valid": "val"}.get(split, split)
    for line in open(f"{folder}/clinc150/{name}.tsv", encoding="utf-8"):
        yield line.rstrip("\n").split("\t", 1)


def wordnet(folder, split):
    for line in open(f"{folder}/wordnet-hypernym/hypernym_{split}.svm"):
        label, *features = line.split()
        yield label, " ".join("f" + feature.split(":")[0] for feature in features)


def timed(command):
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr[-500:]}")
    return time.time() - start, done.stdout


def fasttext(work, loss, epochs, threads, rate):
    seconds, _ = timed(["fasttext", "supervised", "-input", f"{work}/train.txt", "-output", f"{work}/{loss}", "-dim",
                        str(DIMENSION), "-epoch", str(epochs), "-loss", loss, "-thread", str(threads), "-lr", str(rate),
                        "-verbose", "0"])
    return seconds


def fasttext_nll(work, loss, classes):
    _, out = timed(["fasttext", "predict-prob", f"{work}/{loss}.bin", f"{work}/test.txt", str(classes)])
    total = count = 0
    for line, text in zip(out.splitlines(), open(f"{work}/test.txt", encoding="utf-8")):
        words = line.split()
        given = dict(zip(words[0::2], map(float, words[1::2])))
        total -= math.log(min(1.0, max(1e-5, given.get(text.split(" ", 1)[0], 0.0))))
        count += 1
    return total / count


def selfnorm(program, work, objective, epochs, threads, more=()):
    command = [program, "train", "classifier", f"{work}/train.tsv", "--format", "text", "--encoder", "bag", "--no-tf-idf", "--ngrams", "1",
               "--dimension", str(DIMENSION), "--objective", objective, "--epochs", str(epochs), "--threads", str(threads),
               "--patience", "0", "--out", f"{work}/{objective}", "--overwrite", "--json", "--quiet", *more]
    seconds, out = timed(command)
    return seconds, json.loads(out)["train"]["seconds"]


def selfnorm_nll(program, work, objective):
    _, out = timed([program, "evaluate", f"{work}/{objective}", f"{work}/test.tsv", "--format", "text", "--json"])
    report = json.loads(out)
    return report["nll_exact"], report["nll_raw"]


def verdict(good):
    return "MET" if good else "MISSED"


def compare(name, rows, program, settings):
    threads, rate = os.cpu_count(), settings["rate"]
    with tempfile.TemporaryDirectory() as work:
        labels = set()
        for split in ("train", "test"):
            with open(f"{work}/{split}.txt", "w", encoding="utf-8") as theirs, \
                    open(f"{work}/{split}.tsv", "w", encoding="utf-8") as ours:
                for label, text in rows(split):
                    labels.add(label)
                    theirs.write(f"__label__{label} {text}\n")
                    ours.write(f"{label}\t{text}\n")
        short, long = settings["epochs"]
        best = lambda run: min(run() for _ in range(3))
        theirs = (best(lambda: fasttext(work, "ns", long, threads, rate)) -
                  best(lambda: fasttext(work, "ns", short, threads, rate))) / (long - short)
        for objective in ("snl", "nce"):
            run = lambda epochs: selfnorm(program, work, objective, epochs, threads, ("--samples", "5", "--hold-out", "0"))[1]
            ours = (best(lambda: run(long)) - best(lambda: run(short))) / (long - short)
            print(f"  {name}: one epoch by fastText ns {theirs:.3f} s, by {objective} {ours:.3f} s: "
                  f"{theirs / ours:.2f} x the speed (target >= 1.5) {verdict(theirs / ours >= 1.5)}")
        for loss, epochs, objective, ours_epochs, more in settings["quality"]:
            spent = fasttext(work, loss, epochs, threads, rate)
            nll = fasttext_nll(work, loss, len(labels))
            own, _ = selfnorm(program, work, objective, ours_epochs, threads, more)
            exact, raw = selfnorm_nll(program, work, objective)
            print(f"  {name}: fastText {loss}, {epochs} epochs: test NLL {nll:.3f} in {spent:.1f} s; {objective}, "
                  f"{ours_epochs} epochs: {exact:.3f} exact, {raw:.3f} raw in {own:.1f} s {verdict(exact < nll and own <= spent)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--program", default="build/release/selfnorm")
    given = parser.parse_args()
    if not os.path.isdir(f"{given.data}/clinc150"):
        print(f"  skipped: no {given.data}/clinc150")
        return
    compare("clinc150", lambda split: clinc(given.data, split), given.program, {
        "rate": 0.5, "epochs": (5, 55),
        "quality": [("softmax", 25, "penalty", 30, ("--learning-rate", "0.2")),
                    ("hs", 25, "penalty", 8, ("--learning-rate", "0.2"))]})
    compare("wordnet-hypernym", lambda split: wordnet(given.data, split), given.program, {
        "rate": 0.5, "epochs": (2, 12),
        "quality": [("softmax", 3, "nce", 15, ("--learning-rate", "0.2")),
                    ("hs", 10, "nce", 8, ("--learning-rate", "0.2", "--samples", "64"))]})


if __name__ == "__main__":
    main()
