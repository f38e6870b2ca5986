"""Conditional random fields, in the call shapes of python-crfsuite and sklearn-crfsuite."""

from . import _core
from ._base import Estimator, Result, sklearn_tags, with_options


def _attributes(position, prefix=""):
    """(name, value) of a position: a list of strings, or a dict of name -> number, bool, string, list or dict."""
    if not isinstance(position, dict):
        return [(prefix + str(name), 1.0) for name in position]
    out = []
    for name, value in position.items():
        if isinstance(value, str):
            out.append((f"{prefix}{name}:{value}", 1.0))
        elif isinstance(value, dict):
            out.extend(_attributes(value, f"{prefix}{name}:"))
        elif isinstance(value, (list, tuple, set)):
            out.extend(_attributes(sorted(value) if isinstance(value, set) else value, f"{prefix}{name}:"))
        else:
            out.append((f"{prefix}{name}", float(value)))
    return out


def _sentences(X):
    """(sentences as the extension takes them, whether they are tokens): a position is a str, a tuple of columns, a list of
    attributes or a dict of them."""
    X = [list(sentence) for sentence in X]
    first = next((sentence[0] for sentence in X if sentence), None)
    if isinstance(first, str):
        return [[[token] for token in sentence] for sentence in X], True
    if isinstance(first, tuple):
        return [[list(columns) for columns in sentence] for sentence in X], True
    return [[_attributes(position) for position in sentence] for sentence in X], False


@with_options("crf")
class CRF(Estimator):
    """Labels of the words of a sentence together. A sentence is a list of positions: dicts ({"word": "cat", "bias": 1.0}),
    lists of attributes (["word=cat"]), or tokens ("cat", or tuples of columns), whose attributes `templates` makes."""

    _core_class = _core.Crf

    def fit(self, X, y, *, checkpoint=None, resume=False, callback=None):
        sentences, are_tokens = _sentences(X)
        y = [[str(label) for label in labels] for labels in y]
        options = self._options()
        self._train(lambda run: _core.Crf.train(sentences, are_tokens, y, options, run), checkpoint, resume, callback)
        self._describe()
        return self

    def _describe(self):
        self.classes_ = list(self.model_.labels)

    def predict(self, X):
        """The most probable labels of every sentence."""
        return [best[0][0] for best in self._model().tag(*_sentences(X), 1)] if len(X) else []

    def predict_single(self, x):
        return self.predict([x])[0]

    def predict_n_best(self, X, n=3):
        """Of every sentence the n most probable labellings, best first, as (labels, log-probability)."""
        return self._model().tag(*_sentences(X), n)

    def predict_marginals(self, X):
        """Of every sentence a dict label -> p(y_t = label | x) of every position."""
        labels = self._model().labels
        return [[dict(zip(labels, row.tolist())) for row in array] for array in self.predict_marginal_arrays(X)]

    def predict_marginals_single(self, x):
        return self.predict_marginals([x])[0]

    def predict_marginal_arrays(self, X):
        """The same as arrays, positions x classes_."""
        return self._model().marginals(*_sentences(X))

    def score(self, X, y):
        """The share of labels that are right."""
        return self.evaluate(X, y).accuracy

    def evaluate(self, X, y):
        return Result(self._model().evaluate(*_sentences(X), [[str(label) for label in labels] for labels in y]))

    def _more_tags(self):
        return {"X_types": ["dict"], "requires_y": True}

    def __sklearn_tags__(self):
        return sklearn_tags(super().__sklearn_tags__(), two_d_array=False, requires_y=True)
