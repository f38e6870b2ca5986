#!/usr/bin/python3
"""The Python package against what people use today: processor seconds to fit, held-out NLL in nats, the same data for both. Peers that
are not installed are left out, and named. Usage: PYTHONPATH=build/bench/python bench/python_package.py DATA"""
import importlib.util
import pathlib
import sys
import time
import warnings

import numpy as np

import selfnorm

warnings.simplefilter("ignore")
data = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")


def line(what, name, seconds, nll):
    print(f"  {what:<34} {name:<38} {seconds:8.2f} s   NLL {nll:8.4f}")


def timed(fit):
    start = time.process_time()
    model = fit()
    return model, time.process_time() - start


def intents():
    folder = data / "clinc150"
    if not (folder / "train.svm").exists():
        return print(f"  {folder} is not there: intents are left out")
    from sklearn.datasets import load_svmlight_files
    from sklearn.linear_model import LogisticRegression

    X, y, X_test, y_test = load_svmlight_files([str(folder / "train.svm"), str(folder / "test.svm")])
    for name, model in (("selfnorm", selfnorm.SelfNormalizedClassifier()), ("selfnorm, exact", selfnorm.SelfNormalizedClassifier(objective="exact")),
                        ("sklearn LogisticRegression(C=10)", LogisticRegression(C=10, max_iter=500))):
        fitted, seconds = timed(lambda: model.fit(X, y))
        p = fitted.predict_log_proba(X_test)
        places = {label: k for k, label in enumerate(fitted.classes_)}
        line("clinc150, 151 intents", name, seconds, -np.mean([row[places[label]] for row, label in zip(p, y_test)]))


def density():
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KernelDensity

    random = np.random.default_rng(0)
    ring = random.normal(size=(6000, 2))
    ring = ring / np.linalg.norm(ring, axis=1, keepdims=True) * 3 + 0.3 * random.normal(size=ring.shape)
    train, test = ring[:3000], ring[3000:]
    model, seconds = timed(lambda: selfnorm.EnergyDensity().fit(train))
    line("a ring, 3,000 points", "selfnorm EnergyDensity", seconds, -model.score(test))
    model, seconds = timed(lambda: GridSearchCV(KernelDensity(), {"bandwidth": np.geomspace(0.03, 1, 12)}).fit(train).best_estimator_)
    line("a ring, 3,000 points", "sklearn KernelDensity, bandwidth by CV", seconds, -np.mean(model.score_samples(test)))


def regression():
    random = np.random.default_rng(1)
    X = random.uniform(-2, 2, size=(4000, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + (0.1 + 0.2 * np.abs(X[:, 2])) * random.normal(size=4000)
    model, seconds = timed(lambda: selfnorm.EnergyRegressor().fit(X[:2000], y[:2000]))
    line("noise that depends on x, 2,000 rows", "selfnorm EnergyRegressor", seconds, model.evaluate(X[2000:], y[2000:]).nll)
    truth = 0.1 + 0.2 * np.abs(X[2000:, 2])
    line("noise that depends on x, 2,000 rows", "the truth", 0, np.mean(np.log(truth * np.sqrt(2 * np.pi * np.e))))
    if importlib.util.find_spec("ngboost") is None:
        return print("  ngboost is not installed: left out")
    from ngboost import NGBRegressor

    model, seconds = timed(lambda: NGBRegressor(verbose=False).fit(X[:2000], y[:2000]))
    line("noise that depends on x, 2,000 rows", "NGBoost", seconds, -model.pred_dist(X[2000:]).logpdf(y[2000:]).mean())


def calls():
    random = np.random.default_rng(2)
    X, y = random.normal(size=(3000, 100)).astype(np.float32), np.arange(3000) % 50
    model = selfnorm.SelfNormalizedClassifier(epochs=1).fit(X, y)
    X = X[:1000]

    def seconds(call):
        call()
        best = np.inf
        for _ in range(30):
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        return best

    inner = seconds(lambda: model.model_.log_probabilities(X, "exact"))
    print(f"  predict_log_proba of 1,000 rows x 50 classes: {1e3 * inner:.2f} ms in the extension, {seconds(lambda: model.predict_log_proba(X)) / inner:.2f} "
          "times that by the estimator (scikit-learn's checks of X are the rest)")


for part in (intents, density, regression, calls):
    part()
if importlib.util.find_spec("sklearn_crfsuite") is None:
    print("  sklearn_crfsuite is not installed: CRFs are compared with CRFsuite itself, above (bench/crf.py), and bags with fastText (bench/fasttext.py)")
