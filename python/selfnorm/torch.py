"""A self-normalised softmax head as a torch module. Training on GPUs is in selfnorm.torch_gpu."""

import torch
from torch import nn

from .head import normalize_head

__all__ = ["SelfNormalizedHead"]


class SelfNormalizedHead(nn.Module):
    """Wraps an nn.Linear: forward gives its scores. After `normalize(states)` they are nearly log-probabilities, and
    `log_prob` subtracts what the certified rung says: nothing, b(h), or log Z."""

    def __init__(self, linear):
        super().__init__()
        self.linear = linear
        self.rung, self.certificate, self._network = "exact", None, None

    def forward(self, h):
        return self.linear(h)

    @torch.no_grad()
    def normalize(self, states, within=0.1, **options):
        """Moves weight and bias of the layer in place, without changing a probability; a layer without a bias gets one."""
        found = normalize_head(self.linear.weight, self.linear.bias, states, within, **options)
        self.linear.weight.copy_(found.weight)
        if self.linear.bias is None:
            self.linear.bias = nn.Parameter(found.bias)
        else:
            self.linear.bias.copy_(found.bias)
        self.rung, self.certificate = found.rung, found.network if found.rung == "network" else found.after
        self._network = None
        if found.rung == "network":
            like = dict(dtype=torch.float32, device=self.linear.weight.device)
            self._network = {name: torch.as_tensor(value, **like) for name, value in found.normalizer.items()}
        return found

    def log_normalizer(self, h, exact=True):
        """log Z(h); exact=False: what the rung takes for it."""
        if exact or self.rung == "exact":
            return torch.logsumexp(self.linear(h), dim=-1)
        if self.rung == "constant":
            return torch.zeros(h.shape[:-1], dtype=h.dtype, device=h.device)
        b, x = self._network, h.float()
        out = b["intercept"] + x @ b["slope"]
        if b["output"].numel():
            out = out + torch.relu(x @ b["hidden_weight"].T + b["hidden_bias"]) @ b["output"]
        return out

    def log_prob(self, h, candidates=None):
        """log p(candidates | h), candidates (..., m) for h (..., d), by the rung: only the candidates' rows are multiplied,
        unless the rung is "exact". Without candidates, of all classes, exactly."""
        if candidates is None:
            return torch.log_softmax(self.linear(h), dim=-1)
        scores = (self.linear.weight[candidates] * h.unsqueeze(-2)).sum(-1)
        if self.linear.bias is not None:
            scores = scores + self.linear.bias[candidates]
        return scores - self.log_normalizer(h, exact=False).unsqueeze(-1)

    @torch.no_grad()
    def audit(self, h):
        """Mean, root mean square and largest size of what `log_prob` is off by on these states."""
        error = self.log_normalizer(h).double() - (0 if self.rung == "exact" else self.log_normalizer(h, exact=False).double())
        error = torch.zeros_like(error) if self.rung == "exact" else error
        return {"rung": self.rung, "states": error.numel(), "mean": error.mean().item(),
                "rms": error.square().mean().sqrt().item(), "largest": error.abs().max().item()}
