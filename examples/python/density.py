# %% [markdown]
# How likely is a row? A density whose log Z comes with its error.
# %%
import numpy as np

import selfnorm

random = np.random.default_rng(0)
ring = random.normal(size=(1500, 2))
ring = ring / np.linalg.norm(ring, axis=1, keepdims=True) * 3 + 0.3 * random.normal(size=(1500, 2))
train, test = ring[:1000], ring[1000:]

# %% A Gaussian, and a mixture that an energy network tilts.
for options in ({"energy": "gaussian"}, {"steps": 1000}):
    model = selfnorm.EnergyDensity(**options).fit(train)
    found, z = model.evaluate(test), model.log_normalizer_
    print(f"{options}: NLL {found.nll:.3f} +- {found.nll_error:.3f} nats a row, log Z {z.value:.4f} in [{z.low:.4f}, {z.high:.4f}] by {z.method}")

# %%
drawn = model.sample(500, random_state=1)
print(f"radius of draws: {np.linalg.norm(drawn, axis=1).mean():.2f}; log p at the centre {model.score_samples([[0.0, 0.0]])[0]:.1f}")
