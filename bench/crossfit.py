#!/usr/bin/env python3
"""How often a certificate from out-of-fold errors is wrong about a rung refitted to all rows (docs/decisions/0015-ladder.md),
and one of rows that nothing was fitted to. Both certify 1% of inputs at confidence 99%: at most 1% of claims may be wrong."""
import math

import numpy as np

RHO, CONFIDENCE, FOLDS, NEEDED = 0.01, 0.99, 5, 459
random = np.random.default_rng(1)


def certified(errors):
    """The error that largest_certifiable_count of src/audit/error_audit.h allows."""
    n = len(errors)
    count, tail, term = -1, 0.0, (1 - RHO) ** n
    while (tail := tail + term) <= 1 - CONFIDENCE:
        count += 1
        term *= (n - count) / (count + 1) * RHO / (1 - RHO)
    return math.inf if count < 0 else np.sort(np.abs(errors))[n - 1 - count]


def least_squares(x, y, ridge):
    d = x.shape[1]
    return np.linalg.lstsq(np.vstack([x, math.sqrt(ridge) * np.eye(d)]), np.concatenate([y, np.zeros(d)]), rcond=None)[0]


def wrong_claims(rows, features, bad, fresh):
    """Of one draw: (refitted to all rows, parted). A share `bad` of fits ends badly."""
    b = random.normal(size=features) / math.sqrt(features)

    def draw(n):
        x = random.normal(size=(n, features))
        return x, x @ b + 0.05 * random.standard_t(5, n)

    (x, y), (new_x, new_y) = draw(rows), draw(fresh)

    def fit(where):
        return least_squares(x[where], y[where], 1e-9) * (0.5 if random.random() < bad else 1)

    def is_wrong(fitted, eps):
        return np.mean(np.abs(new_y - new_x @ fitted) > eps) > RHO

    fold = np.arange(rows) % FOLDS
    out_of_fold = np.concatenate([y[fold == f] - x[fold == f] @ fit(fold != f) for f in range(FOLDS)])
    fitted = max(200, min(rows * 45 // 100, rows - NEEDED))
    parted = fit(np.arange(rows) < fitted)
    return (is_wrong(fit(fold >= 0), certified(out_of_fold)),
            is_wrong(parted, certified(y[fitted:] - x[fitted:] @ parted)))


for name, rows, features, bad, draws in [("20 features, 900 rows", 900, 20, 0, 1000),
                                         ("the same, one fit in 20 bad", 900, 20, 0.05, 1000),
                                         ("as many features as rows, 700", 700, 700, 0, 40)]:
    wrong = [wrong_claims(rows, features, bad, 20000 if features < 100 else 4000) for _ in range(draws)]
    refitted, parted = np.mean(wrong, axis=0)
    print(f"{name:32} wrong claims: refitted to all {refitted:.3f}, parted {parted:.3f}", flush=True)
