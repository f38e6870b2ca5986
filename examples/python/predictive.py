# %% [markdown]
# Not a number but all of p(y|x): two branches, and noise that grows.
# %%
import numpy as np

import selfnorm

random = np.random.default_rng(0)
X = random.uniform(-2, 2, size=(1500, 1))
y = np.where(random.uniform(size=1500) < 0.5, 1, -1) * X[:, 0] ** 2 + 0.2 * random.normal(size=1500)

# %%
model = selfnorm.EnergyRegressor(ensemble=1, epochs=40).fit(X[:1000], y[:1000])
quality = model.evaluate(X[1000:], y[1000:])
print(f"NLL {quality.nll:.3f} +- {quality.nll_error:.3f}, CRPS {quality.crps:.3f}, 90% intervals hold {dict(quality.coverage)[0.9]:.1%}")

# %%
p = model.predict_dist([[0.0], [1.8]])
print("modes", [np.round(modes, 1).tolist() for modes in p.modes()])
print("highest density, 90%", [[(round(a, 1), round(b, 1)) for a, b in parts] for parts in p.highest_density(0.9)])

# %% A plot of the density of a row.
try:
    import matplotlib
except ImportError:
    print("matplotlib is not installed: no plot")
else:
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    p.plot(row=1)
    plt.savefig("predictive.svg")
