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

# %% How far is one dot product from the exact log-probability? On independent texts that had no part in the training:
random = np.random.default_rng(0)
pick = random.choice
every = sum(verbs.values(), [])
unseen = [f"{pick(['hello,', 'please', 'good morning,', 'hi'])} {pick(every)} {pick(things)} {pick(['now', 'today', 'again', 'thanks'])}" for _ in range(1000)]
audit = model.audit(unseen)
print(f"rms of log Z - c: {audit.rms:.3f}; with 99% confidence, 99% of such texts within {audit.smallest_eps:.3f}")
found = model.score_candidates(asked, ["transfer", "block"], within=audit.smallest_eps)
print(found.kind, np.round(found.log_probabilities, 3).tolist())
