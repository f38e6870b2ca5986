"""Somebody's softmax layer: scores W h + b, made log-probabilities without changing one of them."""

import os
import tempfile
import warnings

import numpy as np

from . import _core
from ._base import Result


def as_numpy(values):
    """An array, float32 or float64, without a copy where that can be: numpy, torch (CPU; others are copied), DLPack."""
    if hasattr(values, "detach"):  # torch: bfloat16 and float16 have to be widened
        values = values.detach()
        values = (values if values.element_size() >= 4 and values.is_floating_point() else values.float()).cpu().numpy()
    elif not isinstance(values, np.ndarray) and hasattr(values, "__dlpack__"):
        values = np.from_dlpack(values)
    values = np.asarray(values)
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float32)


def _like(values, given):
    if not hasattr(given, "detach"):
        return values
    import torch

    return torch.from_numpy(np.ascontiguousarray(values)).to(dtype=given.dtype, device=given.device)


def _type(given):
    """What the numbers that are returned are rounded to."""
    return str(given.dtype).rsplit(".", 1)[-1] if hasattr(given, "detach") else "float32"


class NormalizedHead(Result):
    """weight and bias are the head with the same probabilities and log Z near 0; slope and intercept what every row was moved
    by; before and after the audits of log Z on states held out. rungs are the ways to log Z that were measured, the cheapest
    first: name, kind (raw, linear, network, nearest, exact), cost in dot products, rms, eps (certified; None: nothing is) and
    nanoseconds. rung is the name of the one that was chosen, and reason why."""

    def log_normalizer(self, states, rung=None):
        """What is subtracted from the scores of states, by the chosen rung or another that is kept."""
        states, weight, bias = as_numpy(states), as_numpy(self.weight), as_numpy(self.bias)
        rung = rung or self.rung
        if rung == "exact":
            return _core.head_log_normalizers(weight, bias, states)
        opened = self.__dict__.get("_opened")
        if opened is None or opened[0] is not self.ladder:
            opened = self._opened = (self.ladder, _core.HeadLadder(self.ladder, *weight.shape))
        return opened[1].log_normalizers(weight, bias, states, rung)

    def __getstate__(self):  # for copies and pickles: what is opened is opened again
        return None

    def log_prob(self, states, candidates, rung=None):
        """log p(candidates | states): as many candidates for each state, n x m, or one. By a rung none is above 0."""
        states, candidates = as_numpy(states), np.asarray(candidates)
        if candidates.ndim not in (1, 2) or len(candidates) != len(states):
            raise ValueError(f"found candidates of shape {candidates.shape} for {len(states)} states; expected one class for each "
                             f"state, ({len(states)},), or m of them, ({len(states)}, m)")
        rows = as_numpy(self.weight)[candidates]
        scores = np.einsum("nd,n...d->n...", states, rows) + as_numpy(self.bias)[candidates]
        log_z = self.log_normalizer(states, rung)
        found = scores - (log_z if scores.ndim == 1 else log_z[:, None])
        # log Z is at least every score, so an estimate that says less is put right: its error only falls.
        return found if (rung or self.rung) == "exact" else np.minimum(found, 0)


def normalize_head(W, b, H, within=0.1, *, rho=0.01, confidence=0.99, max_cost=0, keep_all=False, hold_out=0.5, clusters=0, seed=0):
    """The head W (classes x features), b (classes, or None) on states H (n x features): numpy arrays or torch tensors.

    The gauge that costs nothing and a ladder of ways to log Z, from a constant to the whole sum, are fitted to half of the
    states; the others (`hold_out`) certify, with `confidence` for all of them together, that all but a share `rho` of states
    have |error| <= eps. The cheapest rung with eps <= within is chosen, or the most precise one that costs at most
    `max_cost` dot products. keep_all keeps the others too."""
    weight, states = as_numpy(W), as_numpy(H)
    states = states.reshape(-1, states.shape[-1]) if states.ndim > 2 else states
    bias = None if b is None else as_numpy(b)
    found = NormalizedHead(_core.normalize_head(weight, bias, states, dict(
        within=within, rho=rho, confidence=confidence, max_cost=max_cost, keep_all=keep_all, hold_out=hold_out, clusters=clusters,
        seed=seed, weight_type=_type(W), bias_type=_type(W if b is None else b))))
    for name in ("before", "after"):
        found[name] = Result(found[name])
    found["rungs"] = [Result(rung) for rung in found["rungs"]]
    found["weight"] = _like(found["weight"], W)
    found["bias"] = _like(found["bias"], W if b is None else b)
    return found


class FittedNormalizer(Result):
    """b(h): mean and rms of log Z - b on the `certified` states that were held out of the `fitted` ones, and the eps that all but
    a share of states are within."""

    def log_normalizer(self, states):
        """b(h), less which a score is nearly a log-probability."""
        b, h = self.normalizer, as_numpy(states)
        out = b["intercept"] + h @ b["slope"].astype(np.float64)
        if len(b["output"]):
            out = out + np.maximum(h @ b["hidden_weight"].T + b["hidden_bias"], 0) @ b["output"].astype(np.float64)
        return out


def fit_normalizer(H, log_z, *, hidden=64, rho=0.01, confidence=0.99, hold_out=0.5, seed=0):
    """A network of `hidden` units for a log Z that you computed, one for each of the states H (n x features): where no gauge can
    be moved into the weights, as where scores are capped by tanh. The states held out measure and certify it."""
    states, values = as_numpy(H), np.asarray(as_numpy(log_z), dtype=np.float64)
    options = dict(hidden=hidden, rho=rho, confidence=confidence, hold_out=hold_out, seed=seed)
    return FittedNormalizer(_core.fit_normalizer(states.reshape(-1, states.shape[-1]), values.ravel(), options))


def normalize_checkpoint(directory, states, out=None, *, within=0.1, vocabulary=0, link=False, states_name="", weight_name="",
                         bias_name="", rho=0.01, confidence=0.99, hold_out=0.1, seed=0):
    """The head of a directory of Hugging Face's layout (config.json, model.safetensors or shards with an index), as
    `selfnorm normalize DIR --states H` does: a new directory `out` (default DIR-normalized) with the same probabilities, whose
    raw logits, less log_normalizer, are nearly log-probabilities. `states` is what goes into the head: an array or tensor, a
    file, or a folder of .npy and .safetensors shards."""
    options = dict(out=os.fspath(out or ""), states_name=states_name, weight_name=weight_name, bias_name=bias_name,
                   vocabulary=vocabulary, link=link, hold_out=hold_out, within=within, rho=rho, confidence=confidence, seed=seed)
    if isinstance(states, (str, os.PathLike)):
        found = Result(_core.normalize_checkpoint(os.fspath(directory), os.fspath(states), options))
    else:
        with tempfile.TemporaryDirectory() as folder:
            np.save(os.path.join(folder, "states.npy"), as_numpy(states))
            found = Result(_core.normalize_checkpoint(os.fspath(directory), folder, options))
    for name in ("before", "after"):
        found[name] = Result(found[name])
    for note in found.notes:
        warnings.warn(note, stacklevel=2)
    return found
