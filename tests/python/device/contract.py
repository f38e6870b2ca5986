"""scikit-learn's checks of the estimators with their default options, without pytest, one process a core: what fails beyond what the tags
expect, and how many pass.     contract.py [NAME...]"""
import multiprocessing
import os
import sys
import time
import unittest
import warnings

import sklearn
from sklearn.utils import estimator_checks

import selfnorm

NAMES = ("SelfNormalizedClassifier", "EnergyDensity", "EnergyRegressor")


def checks_of(estimator):
    if hasattr(estimator_checks, "estimator_checks_generator"):  # since 1.6
        return list(estimator_checks.estimator_checks_generator(estimator))
    return list(estimator_checks.check_estimator(estimator, generate_only=True))


def alone(cores):
    os.sched_setaffinity(0, {cores.get()})
    warnings.simplefilter("ignore")


def checked(task):
    name, place = task
    estimator, check = checks_of(getattr(selfnorm, name)())[place]
    what, start = getattr(check, "func", check).__name__, time.time()
    try:
        check(estimator)
        result = "passed"
    except unittest.SkipTest as reason:
        result = f"skipped: {reason}"
    except Exception as error:  # noqa: BLE001, whatever a check finds
        expected = estimator._more_tags().get("_xfail_checks", {})
        result = f"expected: {expected[what]}" if what in expected else f"FAILED: {type(error).__name__}: {str(error)[:300]}"
    return name, what, result, time.time() - start


def main():
    names = sys.argv[1:] or NAMES
    warnings.simplefilter("ignore")
    tasks = [(name, place) for name in names for place in range(len(checks_of(getattr(selfnorm, name)())))]
    cores = multiprocessing.Queue()
    usable = sorted(os.sched_getaffinity(0))
    for core in usable:
        cores.put(core)
    with multiprocessing.Pool(len(usable), alone, (cores,)) as pool:
        found = pool.map(checked, tasks, chunksize=1)
    failed = False
    for name in names:
        mine = [row for row in found if row[0] == name]
        kinds = [result.split(":")[0] for _, _, result, _ in mine]
        print(f"scikit-learn {sklearn.__version__}, {name}(): {kinds.count('passed')} checks passed, {kinds.count('expected')} failed as expected, "
              f"{kinds.count('skipped')} skipped, {kinds.count('FAILED')} failed; {sum(row[3] for row in mine):.0f} s")
        print("".join(f"  {what} {result}\n" for _, what, result, _ in mine if result != "passed"), end="")
        failed = failed or "FAILED" in kinds
    for name in () if sys.argv[1:] else ("CRF", "LanguageModel"):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            estimator_checks.check_estimator(getattr(selfnorm, name)())
        print(f"{name}: " + "; ".join(sorted({str(w.message)[:100] for w in said})))
    return failed


if __name__ == "__main__":
    sys.exit(main())
