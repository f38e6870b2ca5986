"""What the estimators have in common: keywords made from the option tables, data as the library takes them, training
that is watched and can be stopped, files, pickles."""

import contextlib
import os
import sys
import tempfile
import uuid
import warnings

import numpy as np

from . import _core

try:
    from sklearn.base import BaseEstimator, RegressorMixin
except ImportError:  # enough of it to work without scikit-learn

    class RegressorMixin:
        pass

    class BaseEstimator:
        def get_params(self, deep=True):
            return {name: getattr(self, name) for name in self._keywords}

        def set_params(self, **params):
            for name, value in params.items():
                if name not in self._keywords:
                    raise _core.Error(f"found the keyword {name}; expected one of {', '.join(self._keywords)}")
                setattr(self, name, value)
            return self


class Result(dict):
    """Numbers by name, as items and as attributes."""

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(name)

    def __repr__(self):
        return "\n".join(f"{name:>18}  {value}" for name, value in self.items())


_FROM_TEXT = {"bool": lambda text: text == "true", "int": int, "float": float, "str": str,
              "auto": lambda text: text if text == "auto" else float(text),
              "ints": lambda text: tuple(map(int, filter(None, text.split(",")))),
              "floats": lambda text: tuple(map(float, filter(None, text.split(",")))),
              "strs": lambda text: tuple(filter(None, text.split(",")))}


def _text(value):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(map(_text, value))
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def named(**options):
    """Options as the library reads them; None is what nothing was said about."""
    return {name: _text(value) for name, value in options.items() if value is not None}


_EVERY = """
    hold_out | "auto" | share of the rows that has no part in the steps and says when to stop, 0..0.5; auto: as on the command line
    comm | None | mpi4py: a communicator whose processes call fit with the same data, train together and get the same model
    verbose | False | True: a line of progress; "auto": on a terminal and in notebooks
"""


def with_options(table, own=""):
    """A class decorator: __init__ takes the options of a table of the library as keywords, with their defaults, and the
    docstring lists them. `own` are the class's own beside those of every class, a name, a default and a text a line."""
    own = _EVERY + own

    def decorate(cls):
        rows = []
        for name, initial, kind, text, choices, chooses in _core.option_list(table):
            value = _FROM_TEXT[kind](initial)
            if chooses:  # saying 0.1 is not the same as saying nothing
                text += f". None: {'chosen by the data' if name == 'objective' else 'chosen, or ' + repr(value)}"
                value = None
            rows.append((name.replace("-", "_"), value, kind, text, choices))
        for line in filter(None, map(str.strip, own.splitlines())):
            name, initial, text = line.split(" | ")
            rows.append((name, eval(initial), "", text, []))  # of this file's callers alone
        defaults = {name: initial for name, initial, *_ in rows}
        source = "def __init__(self, *, {}):\n    {}".format(
            ", ".join(f"{name}=_defaults[{name!r}]" for name in defaults),
            "\n    ".join(f"self.{name} = {name}" for name in defaults))
        scope = {"_defaults": defaults, "__name__": cls.__module__}
        exec(source, scope)
        cls.__init__ = scope["__init__"]
        cls.__init__.__qualname__ = cls.__qualname__ + ".__init__"
        cls._keywords = tuple(defaults)
        cls._own = tuple(line.split(" | ")[0].strip() for line in own.splitlines() if line.strip())
        lines = [f"{name} : {kind or type(initial).__name__}, default {initial!r}" +
                 (f", one of {', '.join(choices)}" if choices else "") + f"\n    {text}"
                 for name, initial, kind, text, choices in rows]
        cls.__doc__ = (cls.__doc__ or "") + "\n\nParameters\n----------\n" + "\n".join(lines) + "\n"
        return cls

    return decorate


class Progress:
    """A line that fills, on a terminal or in a notebook."""

    def __init__(self, out=None):
        self.out = out or sys.stderr

    def __call__(self, p):
        done = p["step"] / p["steps"] if p["steps"] else 0
        numbers = "  ".join(f"{name} {p[name]:.4g}" for name in ("loss", "valid_nll", "log_z_rms") if name in p)
        bar = "#" * int(20 * done)
        self.out.write(f"\r{done:4.0%} |{bar:<20}| step {p['step']}  {numbers}  {p['seconds']:.0f} s ")
        self.out.flush()

    def close(self):
        self.out.write("\n")


def _hold_out(value):
    """None where the library decides."""
    if value is None or isinstance(value, str) and value == "auto":
        return None
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = float("nan")
    if not 0 <= share <= 0.5:
        raise _core.Error(f'hold_out: found {value!r}; expected a number from 0 to 0.5, or "auto"')
    return share


def _shows_progress(verbose):
    if verbose != "auto":
        return bool(verbose)
    return "ipykernel" in sys.modules or (hasattr(sys, "ps1") and sys.stderr.isatty())


class Estimator(BaseEstimator):
    """fit(..., callback=f) calls f with a dict of numbers after a step. Ctrl-C, or an exception in f, stops the training and
    leaves a checkpoint (`checkpoint_`), from which fit(..., resume=True) on the same data goes on to the same bits. `notes_`
    says what was chosen where a keyword left it open."""

    _core_class = None

    def _options(self):
        return named(**{name: getattr(self, name) for name in self._keywords if name not in self._own})

    def _train(self, train, checkpoint=None, resume=False, callback=None):
        """train(run) with what `run` needs; the result is model_."""
        left = getattr(self, "checkpoint_", None) if resume else None
        path = os.fspath(checkpoint or left or
                         os.path.join(tempfile.gettempdir(), f"selfnorm-{os.getpid()}-{uuid.uuid4().hex}.safetensors"))
        if resume and not os.path.exists(path):
            raise _core.Error(f"{path}: found no checkpoint to resume from; expected what a stopped fit left, or resume=False")
        hold_out = _hold_out(self.hold_out)
        bar = Progress() if callback is None and _shows_progress(getattr(self, "verbose", False)) else None

        self.notes_ = []
        comm = getattr(self, "comm", None)
        if comm is not None:
            path = comm.bcast(path)

        def message(kind, text):
            if kind == "warning":
                warnings.warn(text, stacklevel=4)
            else:
                self.notes_.append(text)

        try:
            with contextlib.nullcontext() if comm is None or comm.Get_size() == 1 else _core.Processes(comm.py2f()):
                self.model_ = train((callback or bar, message, path, bool(resume), hold_out))
        except BaseException:
            if os.path.exists(path):
                self.checkpoint_ = path
            raise
        finally:
            if bar:
                bar.close()
        if (comm is None or comm.Get_rank() == 0) and os.path.exists(path):
            os.unlink(path)
        self.__dict__.pop("checkpoint_", None)
        return self

    def save(self, path):
        """Writes a model file, which the command line and every other language of selfnorm opens."""
        self._model().save(os.fspath(path))
        return self

    @classmethod
    def load(cls, path):
        """Opens a model file, or the run directory it is in."""
        return cls._opened(cls._core_class.load(os.fspath(path)))

    @classmethod
    def _opened(cls, model):
        self = cls()
        self.model_ = model
        self._describe()
        return self

    def _describe(self):
        """Sets the attributes that a fit sets, from the model."""

    def _model(self):
        if not hasattr(self, "model_"):
            try:
                from sklearn.exceptions import NotFittedError
            except ImportError:
                NotFittedError = _core.Error
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit or load first")
        return self.model_

    def __getstate__(self):
        state = dict(super().__getstate__() if hasattr(BaseEstimator, "__getstate__") else self.__dict__)
        if "comm" in state:
            state["comm"] = None  # of this job alone
        if "model_" in state:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.safetensors")
                state["model_"].save(path)
                with open(path, "rb") as file:
                    state["model_"] = file.read()
        return state

    def __setstate__(self, state):
        state = dict(state)
        if "model_" in state:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.safetensors")
                with open(path, "wb") as file:
                    file.write(state["model_"])
                state["model_"] = self._core_class.load(path)
        if hasattr(BaseEstimator, "__setstate__"):
            super().__setstate__(state)
        else:
            self.__dict__.update(state)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")


def checked(estimator, X, y="no_validation", reset=False, sparse=False, least=1):
    """X (and y) as arrays that the library reads where they are: float32 or float64, or CSR."""
    if isinstance(y, str) and not reset and type(X) is np.ndarray and _is_ready(estimator, X, least):
        return X
    rules = dict(dtype=[np.float64, np.float32], accept_sparse="csr" if sparse else False, reset=reset, ensure_min_samples=least)
    if not isinstance(y, str):
        rules.update(y=y, y_numeric=isinstance(estimator, RegressorMixin))
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        validate_data = getattr(type(estimator), "_validate_data", None)
    if validate_data is None:
        return _plainly_checked(estimator, X, y, reset)
    return validate_data(estimator, X, **rules)


def _is_ready(estimator, X, least):
    """Whether there is nothing to convert or to say; that numbers are finite is for the library to see."""
    return (X.ndim == 2 and X.dtype in (np.float32, np.float64) and len(X) >= least
            and X.shape[1] == getattr(estimator, "n_features_in_", -1) and not hasattr(estimator, "feature_names_in_"))


def _plainly_checked(estimator, X, y, reset):
    X = np.asarray(X) if not hasattr(X, "tocsr") else X
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2:
        raise _core.Error(f"found an array of {X.ndim} dimensions; expected two, rows x columns")
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return X if isinstance(y, str) else (X, np.asarray(y))


def rows_of(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def seed_of(random_state):
    """A number for the library from what scikit-learn takes: an int, None, a RandomState or a Generator."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    return int(np.random.default_rng(random_state).integers(2**31))


def sample_weights(weights, rows, may_be_zero=False):
    """One a row, or None; a number is that of every row."""
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim > 1:
        raise _core.Error("found sample weights in two dimensions; Sample weights must be 1D array or scalar")
    weights = np.broadcast_to(weights, (rows,)) if weights.ndim == 0 else weights
    if len(weights) != rows or not np.all(np.isfinite(weights) & (weights >= 0)):
        raise _core.Error(f"found {len(weights)} weights for {rows} rows; expected one a row, finite and >= 0")
    if not may_be_zero and not np.any(weights):
        raise _core.Error("all sample weights are zero; expected a positive one")
    return weights


# Checks of scikit-learn that cannot hold, and why.
WEIGHTS_AND_ROWS = {name: "the rows held out to know when to stop are drawn by their number: leaving some out draws others"
                    for name in ("check_sample_weights_invariance", "check_sample_weight_equivalence_on_dense_data",
                                 "check_sample_weight_equivalence_on_sparse_data")}


def as_data(X):
    """CSR as the tuple that the extension takes; arrays and lists as they are."""
    if not hasattr(X, "tocsr"):
        return X
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return (X.indptr, X.indices, X.data, X.shape[1])


def are_texts(X):
    """Whether X is a list, an array or a pandas column of str."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(isinstance(text, str) for text in X)
    values = X.to_numpy() if getattr(X, "ndim", 0) == 1 and hasattr(X, "to_numpy") else X  # pandas: of any dtype of text
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        return False
    return values.dtype.kind == "U" or (values.dtype == object and len(values) > 0 and all(isinstance(t, str) for t in values))


def load(path):
    """Any model file, or the run directory it is in, as the estimator that it is of."""
    from . import CRF, EnergyDensity, EnergyRegressor, LanguageModel, SelfNormalizedClassifier

    model = _core.load(os.fspath(path))
    for cls in (SelfNormalizedClassifier, EnergyDensity, EnergyRegressor, CRF, LanguageModel):
        if isinstance(model, cls._core_class):
            return cls._opened(model)
    raise AssertionError(type(model))


def sklearn_tags(tags, **changes):
    """The tags of current scikit-learn, with those of its older form that differ from the defaults."""
    tags.input_tags.sparse = changes.get("sparse", False)
    tags.input_tags.string = changes.get("string", False)
    tags.input_tags.two_d_array = changes.get("two_d_array", True)
    tags.target_tags.required = changes.get("requires_y", False)
    tags.non_deterministic = False
    return tags
