"""Regressors that predict a whole distribution."""

import numpy as np

from . import _core
from ._base import (WEIGHTS_AND_ROWS, Estimator, RegressorMixin, Result, checked, sample_weights, seed_of, sklearn_tags,
                    with_options)


class PredictiveDistribution:
    """p(.|x) of rows, as SciPy's frozen distributions: functions of a number, of one number a row (n,), or of several for
    each row (n, m)."""

    def __init__(self, model, X):
        self._estimator_model, self._X = model, X
        self._rows = model.distributions(X)

    def __len__(self):
        return self._rows.rows

    def _of(self, function, values):
        values = np.asarray(values, dtype=np.float64)
        n = len(self)
        if values.ndim == 2 and values.shape[0] == n:
            return function(np.ascontiguousarray(values))
        if values.ndim > 1 or (values.ndim == 1 and len(values) != n):
            raise _core.Error(f"found values of shape {values.shape}; expected a number, ({n},) or ({n}, m)")
        return function(np.ascontiguousarray(np.broadcast_to(values, (n,))))[:, 0]

    def mean(self):
        return self._rows.mean()

    def std(self):
        return self._rows.deviation()

    def var(self):
        return self.std() ** 2

    def median(self):
        return self.ppf(0.5)

    def mode(self):
        """The highest one of every row; `modes` has all."""
        return np.array([modes[0] for modes in self._rows.modes()])

    def modes(self):
        return [np.array(modes) for modes in self._rows.modes()]

    def log_pdf(self, y):
        """Exact for one y a row; interpolated to about 1e-3 for several."""
        values = np.asarray(y, dtype=np.float64)
        if values.ndim == 2:
            return self._of(self._rows.log_density, values)
        return self._of(lambda at: self._estimator_model.log_densities(self._X, at, True)[:, None], values)

    def pdf(self, y):
        return np.exp(self.log_pdf(y))

    def cdf(self, y):
        return self._of(self._rows.cdf, y)

    def sf(self, y):
        return 1 - self.cdf(y)

    def ppf(self, q):
        """Quantiles at levels in (0, 1)."""
        return self._of(self._rows.quantile, q)

    def interval(self, level=0.9):
        """(from, to) of the central interval of every row."""
        return self.ppf((1 - level) / 2), self.ppf((1 + level) / 2)

    def highest_density(self, level=0.9):
        """Of every row the list of intervals (from, to) where the density is largest, of that mass together."""
        return self._rows.highest_density(level)

    def sample(self, n=1, random_state=0):
        """Rows x n."""
        return self._rows.sample(n, seed_of(random_state))

    def crps(self, y):
        """The continuous ranked probability score of y, smaller is better."""
        return self._of(self._rows.crps, y)

    def plot(self, row=0, ax=None, points=200):
        """The density of a row with its median and central 90% interval, by matplotlib."""
        import matplotlib.pyplot as plt

        ax = ax or plt.gca()
        ends = self.ppf(np.tile([0.0005, 0.05, 0.5, 0.95, 0.9995], (len(self), 1)))[row]
        y = np.linspace(ends[0], ends[-1], points)
        density = np.exp(self.log_pdf(np.tile(y, (len(self), 1)))[row])
        line, = ax.plot(y, density)
        inside = (y >= ends[1]) & (y <= ends[3])
        ax.fill_between(y[inside], density[inside], alpha=0.3, color=line.get_color())
        ax.axvline(ends[2], color=line.get_color(), linestyle=":")
        return ax


@with_options("regressor")
class EnergyRegressor(RegressorMixin, Estimator):
    """The whole density p(y|x) = exp(s(x,y) - A(x)) of one real y. `predict` gives means, `predict_dist` everything else.

    A tenth of the rows (of 20 and more) is held out of the training to keep the best step."""

    _core_class = _core.EnergyRegressor

    def fit(self, X, y, sample_weight=None, *, checkpoint=None, resume=False, callback=None):
        X, y = checked(self, X, y, reset=True, least=2)
        y, options = np.asarray(y, dtype=np.float64), self._options()
        weights = sample_weights(sample_weight, len(y))
        return self._train(lambda run: _core.EnergyRegressor.train(X, y, options, run, weights), checkpoint, resume, callback)

    def _describe(self):
        if self.model_.columns:
            self.n_features_in_ = self.model_.columns

    def predict(self, X):
        """The mean of p(y|x)."""
        return self.predict_dist(X).mean()

    def predict_dist(self, X):
        model = self._model()
        return PredictiveDistribution(model, checked(self, X))

    def log_proba(self, X, y, kind="exact"):
        """log p(y|x): exact, or with b(x) in the place of A(x) (kind="amortised"), which needs no quadrature."""
        if kind not in ("exact", "amortised"):
            raise _core.Error(f"found the kind {kind!r}; expected exact or amortised")
        model = self._model()
        return model.log_densities(checked(self, X), np.asarray(y, dtype=np.float64), kind == "exact")

    def evaluate(self, X, y):
        """NLL with its standard error, RMSE, CRPS and how many targets central intervals hold."""
        model = self._model()
        return Result(model.evaluate(checked(self, X), np.asarray(y, dtype=np.float64)))

    def _more_tags(self):
        return {"requires_y": True, "_xfail_checks": WEIGHTS_AND_ROWS}

    def __sklearn_tags__(self):
        return sklearn_tags(super().__sklearn_tags__(), requires_y=True)
