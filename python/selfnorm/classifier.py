"""Classifiers whose raw scores are nearly log-probabilities."""

import re

import numpy as np

from . import _core
from ._base import (WEIGHTS_AND_ROWS, Estimator, Result, are_texts, as_data, checked, named, rows_of, sample_weights, sklearn_tags,
                    with_options)

try:
    from sklearn.base import ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
except ImportError:

    class ClassifierMixin:
        pass

    def check_classification_targets(y):
        pass

def _names(classes):
    return [str(label) for label in classes.tolist()]


@with_options("classifier")
class SelfNormalizedClassifier(ClassifierMixin, Estimator):
    """p(y|x) = exp(s_y(x) - A(x)), trained so that A(x) is nearly a constant c: then s_y - c, one dot product, is nearly the
    log-probability of y, and `score_candidates` costs what the candidates cost, not what all classes do.

    X is an array, a CSR matrix, a frame of numbers, or a list of texts. Probabilities are exact and sum to 1. A tenth of the
    rows (of 20 and more) is held out of the training to know when to stop.

    Attributes: classes_, n_features_in_, feature_names_in_ (frames), model_ (of the extension), certificates_ (by `audit`)."""

    _core_class = _core.Classifier

    def _options(self):
        weight = self.class_weight
        if not isinstance(weight, dict):
            return super()._options()
        for label in weight:
            if "," in str(label):
                raise _core.Error(f"class_weight names the label {label!r}; expected labels without a comma: use sample_weight")
        return {**super()._options(), "class_weight": ",".join(f"{label}={float(value)!r}" for label, value in weight.items())}

    def _input(self, X):
        if are_texts(X):
            return list(X)
        if self._model().is_of_texts and not hasattr(X, "tocsr"):
            raise _core.Error("found rows of numbers; the model was trained on texts")
        return as_data(checked(self, X, sparse=True))

    def fit(self, X, y, sample_weight=None, *, checkpoint=None, resume=False, callback=None):
        texts = are_texts(X)
        if texts:
            X, y = list(X), np.asarray(y)
        else:
            X, y = checked(self, X, y, reset=True, sparse=True)
        check_classification_targets(y)
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise _core.Error(f"found {len(classes)} class; expected at least two classes")
        weights = sample_weights(sample_weight, len(y))
        data, options = X if texts else as_data(X), self._options()
        self._train(lambda run: _core.Classifier.train(data, (_names(classes), index.astype(np.uint32)), options, run, weights),
                    checkpoint, resume, callback)
        self.classes_ = self._rising = classes
        self.certificates_ = {}
        if texts:
            self.n_features_in_ = 1
            self.__dict__.pop("feature_names_in_", None)
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One pass of minibatches over these rows, from where the model stands; `classes` are all there will be, and are
        needed in the first call. For objective "exact" (where nothing of an objective is said), "penalty" and "sampled" on rows
        of numbers: another optimiser than before starts anew, and other objectives, encoders and the words of texts need all rows. Nothing is standardised or held out. Pickles and files
        keep the weights, not AdaGrad's memory of the steps."""
        first = not hasattr(self, "model_")
        if are_texts(X):
            raise _core.Error("found texts; training by parts is of rows of numbers: the words and their weights are those of all texts")
        X, y = checked(self, X, y, reset=first, sparse=True)
        check_classification_targets(y)
        if first and classes is None:
            raise _core.Error("found no classes; expected those of all rows in the first call of partial_fit")
        all_classes = np.unique(classes) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.unique(classes), np.sort(all_classes)):
            raise _core.Error("found other classes than in the first call of partial_fit; expected the same, or none")
        places = self._places(y, all_classes)
        weights = sample_weights(sample_weight, len(y), may_be_zero=True)
        before = None if first else self.model_
        names = _names(all_classes) if first else before.labels
        self.model_ = _core.Classifier.train_part(before, as_data(X), (names, places), self._options(), weights)
        self.classes_, self.certificates_ = all_classes, {}
        return self

    def _describe(self):
        labels = self.model_.labels
        if all(re.fullmatch(r"-?\d+", label, re.ASCII) and str(int(label)) == label for label in labels):
            self.classes_ = np.array([int(label) for label in labels])
        else:
            self.classes_ = np.array(labels)
        self.n_features_in_ = 1 if self.model_.is_of_texts else self.model_.columns
        self.certificates_ = {}

    def predict(self, X):
        model = self._model()
        return self.classes_[model.predict(self._input(X))]

    def predict_log_proba(self, X):
        """Exact."""
        model = self._model()
        return model.log_probabilities(self._input(X), "exact")

    def predict_proba(self, X):
        """Exact; every row sums to 1."""
        model = self._model()
        return model.probabilities(self._input(X))

    def decision_function(self, X):
        """Raw log-probabilities, which no sum over the classes went into; of two classes their difference."""
        model = self._model()
        raw = model.log_probabilities(self._input(X), "raw")
        return raw[:, 1] - raw[:, 0] if len(self.classes_) == 2 else raw

    def top(self, X, k=5, kind="exact"):
        """(classes, log-probabilities) of the k best of every row, best first."""
        model = self._model()
        index, log_probabilities = model.top(self._input(X), k, kind)
        return self.classes_[index], log_probabilities

    def _rises(self, classes):
        return getattr(self, "_rising", None) is classes or bool(np.all(classes[:-1] < classes[1:]))

    def _places(self, labels, classes):
        """Where labels are in classes, which may come in any order."""
        labels = np.asarray(labels)
        flat, order = labels.ravel(), None if self._rises(classes) else np.argsort(classes, kind="stable")
        place = np.searchsorted(classes, flat, sorter=order)
        place[place == len(classes)] = 0
        if order is not None:
            place = order[place]
        missing = classes[place] != flat
        if missing.any():
            raise _core.Error(f"found {flat[missing][0]!r}; expected one of the {len(classes)} classes")
        return place.astype(np.uint32).reshape(labels.shape)

    def score_candidates(self, X, classes, within=None, kind=None, *, rho=None):
        """Log-probabilities of some classes, rows x candidates: `classes` are the same for all rows (a list), or one list a
        row. They are as cheap as a certificate allows: raw or amortised ones where `audit` has certified that they are right
        to `within` nats but for a share `rho` of inputs; else by the cheapest rung that is certified for it of the ladder in
        the model's file (made by 'selfnorm train' and 'selfnorm normalize'); otherwise exact ones, which sum over all
        classes. Without `within` and `rho` they are what the model promises: 0.1 and 0.01 where it was made for nothing else.
        kind="raw", "amortised" or "exact" decides."""
        model, data, places = self._model(), self._input(X), self._places(classes, self.classes_)
        if places.ndim not in (1, 2):
            raise _core.Error(f"found candidates in {places.ndim} dimensions; expected a list, or one list a row")
        if places.ndim == 2 and len(places) != rows_of(X):
            raise _core.Error(f"found {len(places)} lists of candidates for {rows_of(X)} rows; expected one list a row")
        promised = model.promise
        within, rho = promised[0] if within is None else within, promised[1] if rho is None else rho
        if kind is None:
            fits = {k for k, found in self.certificates_.items()
                    if found.smallest_eps is not None and found.smallest_eps <= within and found.rho <= rho}
            kind = next((k for k in ("raw", "amortised") if k in fits), None)
        if kind is None:
            found, rung, *bound = model.score_within(data, places.ravel(), places.ndim == 1, within, rho)
            certificate = None if rung == "exact" else Result(zip(("eps", "rho", "confidence"), bound))
            return Result(log_probabilities=found, kind=rung, within=bound[0], certificate=certificate)
        return Result(log_probabilities=model.score(data, places.ravel(), places.ndim == 1, kind), kind=kind,
                      within=0.0 if kind == "exact" else within, certificate=self.certificates_.get(kind))

    def log_normalizer(self, X):
        """A(x) - c of every row: how far its raw log-probabilities are off."""
        model = self._model()
        return model.log_normalizers(self._input(X))

    def audit(self, X, y=None, kind="raw", **options):
        """How far log-probabilities of a kind ("raw", "amortised") are off, with a certificate that `score_candidates` then
        uses. X had no part in the training. Options are those of `selfnorm audit`: eps, rho, confidence, bins, worst."""
        model = self._model()
        labels = None
        if y is not None:
            names, index = np.unique(np.asarray(y), return_inverse=True)
            known = {label: k for k, label in enumerate(self.classes_.tolist())}  # 1 and 1.0 are one label
            known = {**{str(label): k for label, k in known.items()}, **known}
            places = np.array([known.get(name, known.get(str(name), len(self.classes_))) for name in names.tolist()], dtype=np.uint32)
            labels = (list(model.labels), places[index])
        self.certificates_[kind] = Result(model.audit(self._input(X), labels, named(**options), kind))
        return self.certificates_[kind]

    def normalize_(self, X):
        """Replaces the model by the one with the same probabilities whose log Z varies least on rows like these. Returns what
        log Z was and is on a tenth of them."""
        model, before, after = self._model().normalized(self._input(X))
        self.model_, self.certificates_ = model, {}
        return Result(before=Result(before), after=Result(after))

    def _more_tags(self):
        return {"X_types": ["2darray", "sparse", "string"], "_xfail_checks": WEIGHTS_AND_ROWS}

    def __sklearn_tags__(self):
        return sklearn_tags(super().__sklearn_tags__(), sparse=True, string=True, requires_y=True)
