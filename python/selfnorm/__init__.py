"""Probability models whose raw scores are already log-probabilities.

    SelfNormalizedClassifier, EnergyDensity, EnergyRegressor, CRF, LanguageModel    estimators, as scikit-learn's
    load(path)                                       any model file, of Python or of the command line, as the right estimator
    normalize_head(W, b, H, within=0.1)              somebody's softmax layer: the same probabilities, log Z near 0
    normalize_checkpoint(DIR, states)                the same for a directory of Hugging Face's layout
    report(run)                                      the page of a run, in a notebook
    selfnorm.torch, selfnorm.torch_gpu               heads in torch;  selfnorm.runtime: scoring by ctypes alone

Errors of the user are selfnorm.Error, a ValueError.
"""

import importlib

__version__ = "0.3.0"

_PLACES = {
    "SelfNormalizedClassifier": "classifier", "EnergyDensity": "density", "EnergyRegressor": "regressor",
    "PredictiveDistribution": "regressor", "CRF": "crf", "LanguageModel": "language_model", "State": "language_model",
    "load": "_base",
    "Result": "_base", "normalize_head": "head", "NormalizedHead": "head", "fit_normalizer": "head", "FittedNormalizer": "head",
    "normalize_checkpoint": "head",
    "report": "_report", "Report": "_report", "Error": "_core",
}
_MODULES = ("torch", "torch_gpu", "runtime")
__all__ = ["__version__", *_PLACES]


def __getattr__(name):  # what is not used is not imported: scikit-learn alone takes a second
    if name in _MODULES:
        return importlib.import_module("selfnorm." + name)
    if name not in _PLACES:
        raise AttributeError(f"module 'selfnorm' has no attribute '{name}'")
    value = getattr(importlib.import_module("selfnorm." + _PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_PLACES, *_MODULES])
