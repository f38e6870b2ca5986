#!/usr/bin/python3
"""The Python package against what people use today: processor seconds to fit (those of all threads and child processes), held-out NLL in
nats, the same data for both. Peers that are not installed are left out, and named.

    PYTHONPATH=build/bench/python bench/python_package.py DATA [PART...] [--programs build/bench/bench]

DATA has clinc150, ud-english-ewt and uci-regression; PART: intents, tags, density, regression, calls; all of them without any.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

import selfnorm

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).resolve().parent
SENTENCES, L2 = 3000, 1e-4  # of the tagger's training


def line(what, name, seconds, nll, more=""):
    print(f"  {what:<34} {name:<42} {seconds:8.2f} s   NLL {nll:8.4f}{more}", flush=True)


def processor():
    here, below = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return here.ru_utime + here.ru_stime + below.ru_utime + below.ru_stime


def timed(fit):
    start = processor()
    model = fit()
    return model, processor() - start


def nll_and_accuracy(model, X, y):
    p, places = model.predict_log_proba(X), {label: k for k, label in enumerate(model.classes_)}
    index = np.array([places[label] for label in y])
    return -p[np.arange(len(y)), index].mean(), f"   accuracy {(p.argmax(axis=1) == index).mean():.4f}"


def intents(given):
    folder = given.data / "clinc150"
    if not (folder / "train.tsv").exists():
        return print(f"  {folder} is not there: intents are left out")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    split = {name: [row.rstrip("\n").split("\t", 1) for row in open(folder / f"{name}.tsv", encoding="utf-8")] for name in ("train", "test")}
    (y, texts), (y_test, texts_test) = (zip(*split[name]) for name in ("train", "test"))
    texts, texts_test, what = list(texts), list(texts_test), f"clinc150, {len(set(y))} intents"
    for name, model in (("selfnorm", selfnorm.SelfNormalizedClassifier()),
                        ("selfnorm, encoder=bag, objective=exact", selfnorm.SelfNormalizedClassifier(encoder="bag", objective="exact", ngrams=1)),
                        ("sklearn tf-idf, LogisticRegression(C=10)",
                         make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10, max_iter=500)))):
        model, seconds = timed(lambda: model.fit(texts, np.array(y)))
        line(what, name, seconds, *nll_and_accuracy(model, texts_test, y_test))
    if shutil.which("fasttext") is None:
        return print("  fasttext is not installed: left out")
    with tempfile.TemporaryDirectory() as work:
        for name, rows in split.items():
            with open(f"{work}/{name}.txt", "w", encoding="utf-8") as file:
                file.writelines(f"__label__{label.replace(' ', '_')} {text}\n" for label, text in rows)
        for grams in (1, 2):
            train = ["fasttext", "supervised", "-input", f"{work}/train.txt", "-output", f"{work}/m", "-epoch", "25", "-lr", "0.5", "-loss", "softmax",
                     "-wordNgrams", str(grams), "-thread", str(os.cpu_count()), "-verbose", "0"]
            _, seconds = timed(lambda: subprocess.run(train, check=True, capture_output=True))
            out = subprocess.run(["fasttext", "predict-prob", f"{work}/m.bin", f"{work}/test.txt", str(len(set(y)))],
                                 check=True, capture_output=True, text=True).stdout.splitlines()
            right = nll = 0
            for (label, _), found in zip(split["test"], map(str.split, out)):
                p = dict(zip(found[0::2], map(float, found[1::2])))
                nll -= np.log(min(1.0, max(1e-5, p.get("__label__" + label.replace(" ", "_"), 0.0))))
                right += bool(found) and found[0] == "__label__" + label.replace(" ", "_")
            line(what, f"fastText softmax, 25 epochs, {grams}-grams", seconds, nll / len(out), f"   accuracy {right / len(out):.4f}")


def sentences_of(path):
    X, y, x, labels = [], [], [], []
    for row in open(path, encoding="utf-8"):
        if row != "\n":
            label, *attributes = row.rstrip("\n").split("\t")
            x.append([a.replace("\\:", ":").replace("\\\\", "\\") for a in attributes])
            labels.append(label)
        elif x:
            X.append(x)
            y.append(labels)
            x, labels = [], []
    return X, y


def tags(given):
    texts = [given.data / f"ud-english-ewt/en_ewt-ud-{split}.conllu" for split in ("train", "test")]
    if not all(path.exists() for path in texts):
        return print("  ud-english-ewt is not there: tags are left out")
    with tempfile.TemporaryDirectory() as work:
        for text, name in zip(texts, ("all", "test")):
            subprocess.run([f"{given.programs}/bench_crf_data", "conllu", text, f"{work}/{name}.crf"], check=True, capture_output=True)
        with open(f"{work}/all.crf", encoding="utf-8") as everything:
            few = "\n\n".join(everything.read().split("\n\n")[:SENTENCES]) + "\n\n"
        pathlib.Path(f"{work}/train.crf").write_text(few, encoding="utf-8")
        (X, y), (X_test, y_test) = sentences_of(f"{work}/train.crf"), sentences_of(f"{work}/test.crf")
        what = f"UD English EWT, {len(X):,} sentences"
        for more in ({}, {"hold_out": 0}):
            model, seconds = timed(lambda: selfnorm.CRF(objective="exact", l2=L2, **more).fit(X, y))
            found = model.evaluate(X_test, y_test)
            line(what, "selfnorm CRF" + (", no rows held out" if more else ""), seconds, found.nll_exact,
                 f" a sentence   accuracy {found.accuracy:.4f}")
        peer = f"{given.programs}/crf/crfsuite"
        os.makedirs(os.path.dirname(peer), exist_ok=True)
        if subprocess.run([HERE / "crfsuite.sh", peer]).returncode != 0:
            return
        train = [f"{peer}/crfsuite_driver", "train", f"{work}/train.crf", f"{work}/m", repr(len(X) * L2 / 2), "500", "10"]
        _, seconds = timed(lambda: subprocess.run(train, check=True, capture_output=True))
        theirs = json.loads(subprocess.run([f"{peer}/crfsuite_driver", "nll", f"{work}/m", f"{work}/test.crf"], check=True, capture_output=True,
                                           text=True).stdout)
        line(what, "CRFsuite 0.12, L-BFGS", seconds, theirs["nll"] / theirs["sentences"],
             f" a sentence   accuracy {theirs['right'] / theirs['tokens']:.4f}")
    if importlib.util.find_spec("sklearn_crfsuite") is None:
        print("  sklearn_crfsuite is not installed (no package of Debian): CRFsuite itself, which it calls, takes its place")


def density(given):
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KernelDensity

    random = np.random.default_rng(0)
    ring = random.normal(size=(6000, 2))
    sets = [("a ring, 3,000 points", ring / np.linalg.norm(ring, axis=1, keepdims=True) * 3 + 0.3 * random.normal(size=ring.shape), 3000)]
    plant = next(iter(sorted((given.data / "uci-regression/power-plant").glob("data.txt"))), None)
    if plant is None:
        print("  uci-regression/power-plant is not there: left out")
    else:
        rows = random.permutation(np.loadtxt(plant))
        sets.append((f"power-plant, {rows.shape[1]} columns, 6,000 rows", (rows - rows[:6000].mean(axis=0)) / rows[:6000].std(axis=0), 6000))
    for what, rows, size in sets:
        train, test = rows[:size], rows[size:]
        model, seconds = timed(lambda: selfnorm.EnergyDensity().fit(train))
        found = model.evaluate(test)
        line(what, "selfnorm EnergyDensity", seconds, found.nll, f"   [{found.nll_low:.4f}, {found.nll_high:.4f}] by log Z")
        model, seconds = timed(lambda: GridSearchCV(KernelDensity(), {"bandwidth": np.geomspace(0.03, 1, 12)}).fit(train).best_estimator_)
        line(what, "sklearn KernelDensity, bandwidth by CV", seconds, -np.mean(model.score_samples(test)))


def regression(_):
    random = np.random.default_rng(1)
    X = random.uniform(-2, 2, size=(4000, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + (0.1 + 0.2 * np.abs(X[:, 2])) * random.normal(size=4000)
    model, seconds = timed(lambda: selfnorm.EnergyRegressor().fit(X[:2000], y[:2000]))
    line("noise that depends on x, 2,000 rows", "selfnorm EnergyRegressor", seconds, model.evaluate(X[2000:], y[2000:]).nll)
    truth = 0.1 + 0.2 * np.abs(X[2000:, 2])
    line("noise that depends on x, 2,000 rows", "the truth", 0, np.mean(np.log(truth * np.sqrt(2 * np.pi * np.e))))
    if importlib.util.find_spec("ngboost") is None:
        return print("  ngboost is not installed (no package of Debian): left out; docs/regression.md has its published numbers")
    from ngboost import NGBRegressor

    model, seconds = timed(lambda: NGBRegressor(verbose=False).fit(X[:2000], y[:2000]))
    line("noise that depends on x, 2,000 rows", "NGBoost", seconds, -model.pred_dist(X[2000:]).logpdf(y[2000:]).mean())


def calls(_):
    """Calls of an estimator against the call of the C++ interface that is under it, on the same 1,000 rows."""

    def both(call, inner):
        times = ([], [])
        for _ in range(60):
            for mine, one in zip(times, (call, inner)):
                start = time.perf_counter()
                one()
                mine.append(time.perf_counter() - start)
        return np.median(times[0]), np.median(times[1])

    random = np.random.default_rng(2)
    for classes, features in ((50, 100), (1000, 256)):
        X, y = random.normal(size=(4000, features)).astype(np.float32), np.arange(4000) % classes
        model = selfnorm.SelfNormalizedClassifier(objective="exact", steps=2, no_ladder=True).fit(X, y)
        X, core = X[:1000], model.model_
        few = list(range(10))
        places = np.array(few, dtype=np.uint32)
        for name, call, inner in (
                ("predict_proba", lambda: model.predict_proba(X), lambda: core.probabilities(X)),
                ("score_candidates, 10, raw", lambda: model.score_candidates(X, few, kind="raw"), lambda: core.score(X, places, True, "raw")),
                ("score_candidates, 10, exact", lambda: model.score_candidates(X, few, kind="exact"), lambda: core.score(X, places, True, "exact"))):
            outer, under = both(call, inner)
            print(f"  {name:<28} 1,000 rows x {features}, {classes:>5} classes: {1e3 * outer:7.3f} ms, in C++ {1e3 * under:7.3f} ms: {outer / under:.3f} x, "
                  f"target <= 1.10: {'MET' if outer <= 1.1 * under else 'MISSED'}")
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import selfnorm"], check=True)
        middle = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        seconds.append((middle - start) - (time.perf_counter() - middle))
    print(f"  import selfnorm: {np.median(seconds):.3f} s beside Python's own start, target < 0.3: {'MET' if np.median(seconds) < 0.3 else 'MISSED'}")


PARTS = {part.__name__: part for part in (intents, tags, density, regression, calls)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, nargs="?", default=pathlib.Path("../shared/data"))
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--programs", default="build/bench/bench")
    given = parser.parse_args()
    for name in given.parts or PARTS:
        PARTS[name](given)


if __name__ == "__main__":
    main()
