"""A self-normalised softmax head as a torch module. Training on GPUs is in selfnorm.torch_gpu."""

import torch
from torch import nn

from . import _core
from ._base import Result
from .head import as_numpy, normalize_head

__all__ = ["SelfNormalizedHead"]
_NETWORK = ("intercept", "slope", "hidden_weight", "hidden_bias", "output")


class SelfNormalizedHead(nn.Module):
    """Wraps an nn.Linear: forward gives its scores. After `normalize(states)` they are nearly log-probabilities, and
    `log_prob` subtracts what the certified rung says: nothing, b(h), the sum over the nearest classes with a learned tail, or
    log Z. certificate has eps, rho, confidence and rows, the number of states that certify it."""

    def __init__(self, linear):
        super().__init__()
        self.linear = linear
        self.rung = self.kind = "exact"
        self.certificate = None
        self._set_ladder(None, b"")

    def forward(self, h):
        return self.linear(h)

    @torch.no_grad()
    def normalize(self, states, within=0.1, **options):
        """Gives the layer a new weight and bias, without changing a probability; a layer without a bias gets one. Embeddings
        that its weight was tied to stay as they are, and are tied no longer. Options are those of normalize_head."""
        found = normalize_head(self.linear.weight, self.linear.bias, states, within, **options)
        self.linear.weight = nn.Parameter(found.weight, requires_grad=self.linear.weight.requires_grad)
        self.linear.bias = nn.Parameter(found.bias, requires_grad=self.linear.weight.requires_grad)
        self.rung, self.kind = found.rung, found.kind
        self.certificate = Result(eps=found.eps, rho=found.after.rho, confidence=found.after.confidence, rows=found.certified)
        self._set_ladder(found.normalizer, found.ladder if found.kind == "nearest" else b"")
        return found

    def _set_ladder(self, normalizer, ladder):
        """b(h) and the bytes of a HeadLadder as buffers, which go where the module goes."""
        for name in _NETWORK:
            value = None
            if normalizer is not None:
                value = torch.as_tensor(normalizer[name], dtype=torch.float32, device=self.linear.weight.device)
            self.register_buffer("b_" + name, value)
        self.register_buffer("ladder", torch.frombuffer(bytearray(ladder), dtype=torch.uint8) if ladder else None)
        self._ladder = None

    def __getstate__(self):  # for copies and pickles: what is opened is opened again
        return {**self.__dict__, "_ladder": None}

    def get_extra_state(self):
        return {"rung": self.rung, "kind": self.kind, "certificate": None if self.certificate is None else dict(self.certificate)}

    def set_extra_state(self, state):
        self.rung, self.kind = state["rung"], state["kind"]
        self.certificate = None if state["certificate"] is None else Result(state["certificate"])

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        for name in ["b_" + name for name in _NETWORK] + ["ladder"]:  # of the shapes that were saved
            saved = state_dict.get(prefix + name)
            self.register_buffer(name, None if saved is None else torch.empty_like(saved, device=self.linear.weight.device))
        self._ladder = None
        if self.linear.bias is None and prefix + "linear.bias" in state_dict:
            self.linear.bias = nn.Parameter(torch.empty_like(state_dict[prefix + "linear.bias"], device=self.linear.weight.device))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def log_normalizer(self, h, exact=True):
        """log Z(h); exact=False: what the rung takes for it, of kind nearest computed on the CPU and without a gradient."""
        if exact or self.kind == "exact":
            return torch.logsumexp(self.linear(h), dim=-1)
        if self.kind == "raw":
            return torch.zeros(h.shape[:-1], dtype=h.dtype, device=h.device)
        if self.kind == "nearest":
            if self._ladder is None:
                self._ladder = _core.HeadLadder(self.ladder.cpu().numpy().tobytes(), *self.linear.weight.shape)
            found = torch.from_numpy(self._ladder.estimates(as_numpy(h).reshape(-1, h.shape[-1]), self.rung))
            missing = torch.isnan(found)
            found = found.to(dtype=h.dtype, device=h.device).reshape(h.shape[:-1])
            if missing.any():
                missing = missing.to(h.device).reshape(h.shape[:-1])
                with torch.no_grad():
                    found[missing] = torch.logsumexp(self.linear(h[missing]), dim=-1)
            return found
        x = h.to(self.b_slope.dtype)
        out = self.b_intercept + x @ self.b_slope
        if self.b_output.numel():
            out = out + torch.relu(x @ self.b_hidden_weight.T + self.b_hidden_bias) @ self.b_output
        return out

    def log_prob(self, h, candidates=None):
        """log p(candidates | h), candidates (..., m) for h (..., d), by the rung: only the candidates' rows are multiplied,
        unless the rung is "exact"; no other gives one above 0. Without candidates, of all classes, exactly."""
        if candidates is None:
            return torch.log_softmax(self.linear(h), dim=-1)
        scores = (self.linear.weight[candidates] * h.unsqueeze(-2)).sum(-1)
        if self.linear.bias is not None:
            scores = scores + self.linear.bias[candidates]
        found = scores - self.log_normalizer(h, exact=False).unsqueeze(-1)
        # log Z is at least every score, so an estimate that says less is put right: its error only falls.
        return found if self.kind == "exact" else found.clamp(max=0)

    @torch.no_grad()
    def audit(self, h):
        """Mean, root mean square and largest size of what `log_prob` is off by on these states."""
        error = self.log_normalizer(h).double() - self.log_normalizer(h, exact=False).double()
        return {"rung": self.rung, "states": error.numel(), "mean": error.mean().item(),
                "rms": error.square().mean().sqrt().item(), "largest": error.abs().max().item()}
