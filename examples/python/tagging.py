# %% [markdown]
# A label for every word, by a CRF: features as sklearn-crfsuite takes them, or templates.
# %%
import selfnorm

nouns, names = ["house", "garden", "river", "bridge"], ["Ada", "Grace", "Paris", "Oslo"]
sentences = [f"{a} saw the {n} in {b}".split() for a in names for b in names for n in nouns if a != b]
labels = [["NAME", "VERB", "DET", "NOUN", "PREP", "NAME"] for _ in sentences]


def features(sentence, t):
    word = sentence[t]
    return {"word": word.lower(), "upper": word[0].isupper(), "suffix": word[-2:], "before": sentence[t - 1] if t else "BOS"}


# %%
X = [[features(s, t) for t in range(len(s))] for s in sentences]
crf = selfnorm.CRF(objective="penalty").fit(X, labels)
asked = "Emmy saw the tower in Rome".split()
x = [features(asked, t) for t in range(len(asked))]
print(list(zip(asked, crf.predict_single(x))))
for tags, log_p in crf.predict_n_best([x], 2)[0]:
    print(f"{log_p:8.3f}  {' '.join(tags)}")

# %% The same with templates, on tokens.
words = selfnorm.CRF(templates="U00:%x[0,0]\nU01:%x[-1,0]\nB\n").fit(sentences, labels)
print(words.predict_single(asked), f"{words.predict_marginals_single(asked)[3]['NOUN']:.3f}")
