"""Energy-based densities p(x) = exp(s(x)) / Z."""

import warnings

import numpy as np

from . import _core
from ._base import Estimator, Result, checked, named, seed_of, sklearn_tags, with_options

try:
    from sklearn.base import DensityMixin
except ImportError:

    class DensityMixin:
        pass


@with_options("density")
class EnergyDensity(DensityMixin, Estimator):
    """p(x) = exp(s(x)) / Z of rows of numbers, with a log Z that says how it was found and how far it can be off.

    A tenth of the rows (of 20 and more) is held out of the training to keep the best step.

    Attributes: log_normalizer_ (value, low, high, method, distrust), n_parameters_, n_features_in_, model_."""

    _core_class = _core.EnergyDensity

    def fit(self, X, y=None, *, checkpoint=None, resume=False, callback=None):
        X, options = checked(self, X, reset=True, least=2), self._options()
        return self._train(lambda run: _core.EnergyDensity.train(X, options, run), checkpoint, resume, callback)

    def _describe(self):
        self.n_features_in_ = self.model_.columns

    @property
    def n_parameters_(self):
        return self._model().parameters

    @property
    def log_normalizer_(self):
        """log Z in the units of the model: value, the interval [low, high], the method, b which stands for it, and why it is
        not to be trusted (distrust, empty when it is)."""
        model = self._model()
        if getattr(self, "_log_z", (None,))[0] is not model:
            self._log_z = (model, Result(model.normalizer()))
        return self._log_z[1]

    def __getstate__(self):
        state = super().__getstate__()
        state.pop("_log_z", None)
        return state

    def score_samples(self, X):
        """log p(x) of every row; -inf outside the support."""
        model = self._model()
        return model.log_densities(checked(self, X))

    def score(self, X, y=None):
        """The mean of log p(x)."""
        return float(np.mean(self.score_samples(X)))

    def evaluate(self, X):
        """The mean NLL with the best log Z that applies, its error and whether to trust it."""
        model = self._model()
        return Result(model.evaluate(checked(self, X)))

    def bic(self, X):
        """-2 log-likelihood + parameters log rows."""
        scores = self.score_samples(X)
        return float(-2 * np.sum(scores) + self.n_parameters_ * np.log(len(scores)))

    def aic(self, X):
        return float(-2 * np.sum(self.score_samples(X)) + 2 * self.n_parameters_)

    def sample(self, n_samples=1, random_state=0, **options):
        """Rows drawn from the density. Options are those of `selfnorm sample`: method, chains, pool."""
        rows, doubt = self._model().sample(named(number=n_samples, seed=seed_of(random_state), **options))
        if doubt:
            warnings.warn(doubt, stacklevel=2)
        return rows

    def _more_tags(self):
        return {}

    def __sklearn_tags__(self):
        return sklearn_tags(super().__sklearn_tags__())
