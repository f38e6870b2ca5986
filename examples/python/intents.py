# %% [markdown]
# What does the customer want? A classifier of texts whose raw scores are log-probabilities.
# %%
import numpy as np

import selfnorm

verbs = {"balance": ["how much is on", "show me the balance of", "what is left on"],
         "transfer": ["send money from", "move fifty from", "pay my rent from"],
         "block": ["somebody stole", "please block", "I have lost"]}
things = ["my account", "the card", "my savings", "our joint account", "the blue card"]
texts = [f"{verb} {thing}" for intent in verbs for verb in verbs[intent] for thing in things]
labels = [intent for intent in verbs for _ in range(len(verbs[intent]) * len(things))]

# %%
model = selfnorm.SelfNormalizedClassifier(ngrams=2, alpha=1.0).fit(texts, labels)
asked = ["please send money from my savings", "I lost the card"]
for text, row in zip(asked, model.predict_proba(asked)):
    print(f"{text}: " + ", ".join(f"{intent} {p:.3f}" for intent, p in zip(model.classes_, row)))

# %% How far is one dot product from the exact log-probability? On texts that had no part in the training:
unseen = [f"{verb} the {thing}" for verb in sum(verbs.values(), []) for thing in ("account of my wife", "old card", "gift card")]
audit = model.audit(unseen * 20)
print(f"rms of log Z - c: {audit.rms:.3f}; certified: 99% of inputs within {audit.smallest_eps:.3f}")
found = model.score_candidates(asked, ["transfer", "block"], within=audit.smallest_eps)
print(found.kind, np.round(found.log_probabilities, 3).tolist())
