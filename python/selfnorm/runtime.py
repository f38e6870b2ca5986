"""Scores model files by the C runtime alone, through ctypes: this file and libselfnorm_runtime.so are all it takes.

    model = Model("model.safetensors")
    model.score([0.1, 2.0], ["red", "blue"])                  # raw log-probabilities; kind="exact" sums over all classes
    model.top({3: 1.0, 17: 0.5}, 3)                           # a sparse row; a str where the model was trained on texts
"""

import ctypes
import numbers
import os

_KINDS = {"raw": 0, "exact": 1, "amortised": 2, "auto": 3, "nearest": 4, "linear": 5, "network": 6}
_u32, _f32, _f64, _size = ctypes.c_uint32, ctypes.c_float, ctypes.c_double, ctypes.c_size_t
_library = None


def _loaded():
    global _library
    if _library is None:
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libselfnorm_runtime.so")
        path = os.environ.get("SELFNORM_RUNTIME") or (beside if os.path.exists(beside) else "libselfnorm_runtime.so")
        library = ctypes.CDLL(path)
        library.selfnorm_error_message.restype = ctypes.c_char_p
        for name in ("selfnorm_classes", "selfnorm_features", "selfnorm_inputs"):
            getattr(library, name).restype = _u32
            getattr(library, name).argtypes = [ctypes.c_void_p]
        library.selfnorm_log_normalizer_constant.restype = _f64
        library.selfnorm_log_normalizer_constant.argtypes = [ctypes.c_void_p]
        library.selfnorm_label.restype = ctypes.c_void_p
        library.selfnorm_label.argtypes = [ctypes.c_void_p, _u32, ctypes.POINTER(_size)]
        library.selfnorm_close.argtypes = [ctypes.c_void_p]
        library.selfnorm_close.restype = None
        _library = library
    return _library


class Error(ValueError):
    pass


class Model:
    """A model file, or the run directory it is in, mapped into memory. Any number of threads may use it."""

    def __init__(self, path):
        self._library = _loaded()
        self._model = ctypes.c_void_p()
        self._check(self._library.selfnorm_open(os.fsencode(path), ctypes.byref(self._model)))
        self.classes = self._library.selfnorm_classes(self._model)
        self.features = self._library.selfnorm_features(self._model)
        self.inputs = self._library.selfnorm_inputs(self._model)
        self.log_normalizer = self._library.selfnorm_log_normalizer_constant(self._model)

    def __del__(self):
        if getattr(self, "_model", None):
            self._library.selfnorm_close(self._model)
            self._model = None

    def _check(self, status):
        if status:
            raise Error(self._library.selfnorm_error_message().decode(errors="replace"))

    def label(self, index):
        length = _size()
        text = self._library.selfnorm_label(self._model, index, ctypes.byref(length))
        return str(index) if not text else ctypes.string_at(text, length.value).decode(errors="replace")

    @property
    def labels(self):
        return [self.label(k) for k in range(self.classes)]

    def index(self, label):
        text, found = str(label).encode(), _u32()
        self._check(self._library.selfnorm_class_of_label(self._model, text, _size(len(text)), ctypes.byref(found)))
        return found.value

    def verify(self):
        """That the file's bytes are those that were written."""
        self._check(self._library.selfnorm_verify(self._model))

    def _call(self, name, x, *rest):
        if isinstance(x, str):
            text = x.encode()
            given = ("text", text, _size(len(text)))
        elif isinstance(x, dict):
            items = sorted(x.items())
            n = len(items)
            given = ("sparse", (_u32 * n)(*(i for i, _ in items)), (_f32 * n)(*(v for _, v in items)), _size(n))
        else:
            values = (_f32 * len(x))(*x)
            given = ("dense", values, _size(len(x)))
        self._check(getattr(self._library, f"selfnorm_{name}_{given[0]}")(self._model, *given[1:], *rest))

    def encode(self, text):
        """The features of a text, {index: value}."""
        text, n, capacity = text.encode(), _size(), 64
        while True:
            index, value = (_u32 * capacity)(), (_f32 * capacity)()
            status = self._library.selfnorm_encode_text(self._model, text, _size(len(text)), _size(capacity), index, value,
                                                        ctypes.byref(n))
            if not status or n.value <= capacity:
                self._check(status)
                return dict(zip(index[:n.value], value[:n.value]))
            capacity = n.value

    def score(self, x, classes, kind="raw"):
        """Log-probabilities of classes, by label or index, given x: numbers, {index: value}, or a text."""
        index = [int(k) if isinstance(k, numbers.Integral) else self.index(k) for k in classes]
        out = (_f64 * len(index))()
        self._call("score", x, (_u32 * len(index))(*index), _size(len(index)), _KINDS[kind], out)
        return list(out)

    def log_normalizer_of(self, x):
        """A(x), by a sum over all classes; not less the constant `log_normalizer`."""
        if isinstance(x, str):
            x = self.encode(x)
        out = _f64()
        self._call("log_normalizer", x, ctypes.byref(out))
        return out.value

    def top(self, x, n=5, kind="exact"):
        """The n best classes as (label, log-probability), best first."""
        index, log_probabilities = (_u32 * n)(), (_f64 * n)()
        self._call("top", x, _size(n), _KINDS[kind], index, log_probabilities)
        return [(self.label(k), p) for k, p in zip(index, log_probabilities)]
