"""Neural n-gram language models, with kenlm's names: scores are log10, and exact unless raw=True."""

import math
import re

from . import _core
from ._base import Estimator, Result, sklearn_tags, with_options

State = _core.SentenceState
_LOG10 = math.log(10)


def _words(sentence):
    """Separated by ASCII white space alone, as the library reads them."""
    return re.findall(r"[^ \t\n\v\f\r]+", sentence)


@with_options("lm", own="""
    raw | False | True: scores are raw, one dot product a word; False: exact, a sum over all words
""")
class LanguageModel(Estimator):
    """p(word | the order - 1 words before it). fit takes sentences of words separated by white space."""

    _core_class = _core.LanguageModel

    def fit(self, X, y=None, *, checkpoint=None, resume=False, callback=None):
        sentences, options = [str(sentence) for sentence in X], self._options()
        return self._train(lambda run: _core.LanguageModel.train(sentences, options, run), checkpoint, resume, callback)

    def _describe(self):
        self.order = self.model_.order

    @property
    def vocabulary_(self):
        return self._model().vocabulary

    def __contains__(self, word):
        return self._model().has_word(word)

    def score(self, sentence, bos=True, eos=True):
        """log10 p(sentence). bos: it begins here; eos: and ends."""
        return sum(found[0] for found in self.full_scores(sentence, bos, eos))

    def full_scores(self, sentence, bos=True, eos=True):
        """Of every word, and of the end: (log10 p, words that were looked at, whether it is unknown)."""
        model = self._model()
        state, after = model.begin_sentence() if bos else model.no_context(), State()
        for i, word in enumerate(_words(sentence) + (["</s>"] if eos else [])):
            log_p = model.score(state, word, after, not self.raw)
            state.assign(after)
            yield log_p / _LOG10, min(i + 1 + bool(bos), model.order), word not in self

    def perplexity(self, sentence):
        """10 to the power of the mean of -log10 p, the end counted as a word."""
        return 10.0 ** (-self.score(sentence) / (len(_words(sentence)) + 1))

    def BeginSentenceWrite(self, state):
        state.assign(self._model().begin_sentence())

    def NullContextWrite(self, state):
        state.assign(self._model().no_context())

    def BaseScore(self, in_state, word, out_state):
        """log10 p(word | in_state); out_state becomes the state after it."""
        return self._model().score(in_state, word, out_state, not self.raw) / _LOG10

    def log_probabilities(self, sentence):
        """Natural logarithms, of every word and of the end, as an array."""
        return self._model().log_probabilities(sentence, not self.raw)

    def evaluate(self, sentences):
        """Perplexity, exact and raw, and rms log Z."""
        return Result(self._model().evaluate([str(sentence) for sentence in sentences]))

    def _more_tags(self):
        return {"X_types": ["string"]}

    def __sklearn_tags__(self):
        return sklearn_tags(super().__sklearn_tags__(), two_d_array=False, string=True)
