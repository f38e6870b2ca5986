# %% [markdown]
# The softmax layer of a network you already have: the same probabilities, log Z near 0, and a certificate.
# %%
import torch

from selfnorm.torch import SelfNormalizedHead

torch.manual_seed(0)
common = torch.randn(32)
linear = torch.nn.Linear(32, 2000)
with torch.no_grad():
    linear.weight.copy_(common + 0.05 * torch.randn(2000, 32))
states = torch.randn(20000, 32)

# %%
head = SelfNormalizedHead(linear)
before = torch.logsumexp(head(states[:1000]), dim=-1)
p = torch.softmax(head(states[:5]), dim=-1).detach()
found = head.normalize(states, within=0.2)
print(f"log Z was {before.mean().item():.2f} +- {before.std().item():.2f}, is {found.after.mean:.4f} +- {found.after.deviation:.4f}")
print(f"rung {head.rung}: with 99% confidence, 99% of states within {head.certificate.eps:.3f}")
print(f"largest change of a probability {(torch.softmax(head(states[:5]), dim=-1) - p).abs().max().item():.1e}")

# %% Five candidates of 2,000: five dot products.
candidates = torch.randint(2000, (5, 5))
raw = head.log_prob(states[:5], candidates)
print(f"off by at most {(raw - torch.log(p.gather(1, candidates))).abs().max().item():.3f}")
