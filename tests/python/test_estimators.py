"""scikit-learn's contract, and what the estimators promise beside it."""
import pickle
import warnings

import numpy as np
import pytest

import selfnorm

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks  # noqa: E402

# Small, so that the fifty fits of the checks take seconds.
CHECKED = [
    selfnorm.SelfNormalizedClassifier(),
    selfnorm.EnergyDensity(energy="gaussian"),
    selfnorm.EnergyRegressor(ensemble=1, epochs=40, features=(16,), joint=(8,), components=2, input_noise=0.0),
]


def _expected(estimator):  # current scikit-learn takes these from the caller, older ones from the tags
    return estimator._more_tags().get("_xfail_checks", {})


try:
    checks = parametrize_with_checks(CHECKED, expected_failed_checks=_expected)
except TypeError:
    checks = parametrize_with_checks(CHECKED)


@checks
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("name", ["CRF", "LanguageModel"])
def test_estimators_of_other_data_say_so(name):
    with pytest.warns(sklearn.exceptions.SkipTestWarning):
        check_estimator(getattr(selfnorm, name)())


def test_probabilities_are_exact_and_raw_ones_differ_by_log_z(clouds):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier(alpha=1.0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert model.score(X, y) > 0.8
    raw = model.decision_function(X)
    np.testing.assert_allclose(raw - np.log(p), np.tile(model.log_normalizer(X)[:, None], 3), atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])


def test_candidates_are_as_cheap_as_a_certificate_allows(clouds):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier(alpha=1.0).fit(X[:100], y[:100])
    exact = model.predict_log_proba(X)
    found = model.score_candidates(X, [2, 0])
    assert found.kind == "exact" and found.certificate is None
    np.testing.assert_allclose(found.log_probabilities, exact[:, [2, 0]], atol=1e-5)
    audit = model.audit(X[100:], y[100:])
    assert audit.rows == 500 and 0 < audit.rms < 1
    assert model.score_candidates(X, [0], within=audit.smallest_eps).kind == "raw"
    assert model.score_candidates(X, [0], within=audit.smallest_eps / 2).kind == "exact"
    own = model.score_candidates(X, y[:, None], kind="raw").log_probabilities[:, 0]
    np.testing.assert_allclose(own, model.decision_function(X)[np.arange(600), y], atol=1e-5)
    with pytest.raises(selfnorm.Error, match="7"):
        model.score_candidates(X, [7])
    with pytest.raises(selfnorm.Error, match="300 lists of candidates for 600 rows"):
        model.score_candidates(X, np.tile([0, 1], (300, 1)), kind="raw")
    model.certificates_["raw"]["smallest_eps"] = 0.0
    assert model.score_candidates(X, [0], within=0.01).kind == "raw"


def test_labels_are_the_same_as_numbers_of_any_kind(clouds, tmp_path):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier().fit(X, y.astype(float))
    expected = model.audit(X, y.astype(float)).accuracy
    assert expected > 0.8 and model.audit(X, y).accuracy == expected
    assert selfnorm.SelfNormalizedClassifier().fit(X, y).audit(X, y.astype(str)).accuracy > 0.8
    odd = selfnorm.SelfNormalizedClassifier().fit(X, np.array(["--5", "\u00b2", "7"])[y])
    odd.save(tmp_path / "odd")
    assert sorted(selfnorm.load(tmp_path / "odd").classes_) == sorted(odd.classes_)
    with pytest.raises(selfnorm.Error, match="without a comma"):
        selfnorm.SelfNormalizedClassifier(class_weight={"a,b": 2.0}).fit(X, np.array(["a,b", "c", "d"])[y])


def test_normalising_keeps_probabilities(clouds):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier(objective="exact").fit(X, y)
    before = model.predict_proba(X)
    found = model.normalize_(X)
    assert found.after.rms < found.before.rms
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-5)


def test_parts_come_to_the_model_of_all_rows(clouds):
    X, y = clouds
    names = np.array(["x", "y", "z"])[y]
    model = selfnorm.SelfNormalizedClassifier()
    with pytest.raises(selfnorm.Error, match="no classes"):
        model.partial_fit(X, names)
    for pass_ in range(20):
        for part in np.array_split(np.arange(600), 4):
            model.partial_fit(X[part], names[part], classes=["z", "y", "x"])
    whole = selfnorm.SelfNormalizedClassifier(objective="exact").fit(X, names)
    assert list(model.classes_) == ["x", "y", "z"]
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=0.1)
    assert abs(model.score(X, names) - whole.score(X, names)) < 0.02
    sparse = pytest.importorskip("scipy.sparse")
    again = clone(model).partial_fit(sparse.csr_matrix(X), names, classes=names, sample_weight=np.arange(600))
    assert again.partial_fit(sparse.csr_matrix(X[:5]), names[:5]).predict_proba(X).shape == (600, 3)
    whole.partial_fit(X, names)  # goes on from where fit ended
    pickle.loads(pickle.dumps(whole)).partial_fit(X[:1], names[:1])
    with pytest.raises(selfnorm.Error, match="'w'"):
        model.partial_fit(X[:1], ["w"])
    with pytest.raises(selfnorm.Error, match="other classes"):
        model.partial_fit(X, names, classes=["x", "y"])
    with pytest.raises(selfnorm.Error, match="objective=nce draws classes"):
        selfnorm.SelfNormalizedClassifier(objective="nce").partial_fit(X, y, classes=y)
    with pytest.raises(selfnorm.Error, match="texts"):
        selfnorm.SelfNormalizedClassifier().partial_fit(["a", "b"], [0, 1], classes=[0, 1])


def test_parts_may_change_their_options(clouds):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier().partial_fit(X, y, classes=[0, 1, 2])
    for options in ({"optimiser": "adam"}, {"optimiser": "adagrad"}, {"objective": "penalty", "learn_centre": True}, {"learn_centre": False}):
        model.set_params(**options).partial_fit(X, y)
        assert model.score(X, y) > 0.7
    before = model.decision_function(X)
    model.set_params(learn_centre=True, learning_rate=1e-9).partial_fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-4)


def test_a_wrong_share_to_hold_out_names_the_range(clouds):
    X, y = clouds
    for wrong in ("abc", 0.7, -1, [0.1], float("nan")):
        with pytest.raises(selfnorm.Error, match="hold_out: found .*; expected a number from 0 to 0.5"):
            selfnorm.SelfNormalizedClassifier(hold_out=wrong).fit(X, y)
    fitted = [selfnorm.SelfNormalizedClassifier(hold_out=usual).fit(X, y).decision_function(X) for usual in (None, "auto")]
    np.testing.assert_array_equal(*fitted)


def test_texts_sparse_rows_frames_and_arrays():
    texts = ["a good film", "good, very good", "a bad film", "bad, very bad"] * 10
    y = np.array(["+", "+", "-", "-"] * 10)
    for options in ({}, {"encoder": "bag", "epochs": 30}):
        model = selfnorm.SelfNormalizedClassifier(ngrams=1, **options).fit(texts, y)
        assert list(model.predict(["very good", "bad"])) == ["+", "-"]
        assert list(model.predict(np.array(["good"]))) == ["+"]
        with pytest.raises(selfnorm.Error, match="texts"):
            model.predict(np.zeros((1, 3)))
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.csr_matrix(np.array([[1.0, 0, 2], [0, 1, 0], [1, 0, 1], [0, 2, 0]] * 10))
    model = selfnorm.SelfNormalizedClassifier().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(X.toarray()), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X.tocoo().astype(np.float32)), model.predict_proba(X), atol=1e-6)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.toarray(), columns=["a", "b", "c"])
    model = selfnorm.SelfNormalizedClassifier().fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.predict_proba(frame).shape == (40, 2)
    assert list(selfnorm.SelfNormalizedClassifier().fit(pandas.Series(texts), pandas.Series(y)).predict(["good"])) == ["+"]
    model.fit(pandas.Series(texts, dtype="string"), y)
    assert list(model.predict(pandas.Series(["good"], dtype="string"))) == ["+"] and not hasattr(model, "feature_names_in_")


def test_pipelines_searches_clones_and_pickles(clouds):
    X, y = clouds
    pipe = make_pipeline(StandardScaler(), selfnorm.SelfNormalizedClassifier())
    search = GridSearchCV(pipe, {"selfnormalizedclassifier__alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.8
    assert cross_val_score(pipe, X, y, cv=2, n_jobs=2).mean() > 0.8
    model = selfnorm.SelfNormalizedClassifier(alpha=0.5, class_weight="balanced").fit(X, y)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_options_are_those_of_the_tables():
    import inspect

    from selfnorm import _core
    for table, cls in (("classifier", selfnorm.SelfNormalizedClassifier), ("density", selfnorm.EnergyDensity),
                       ("regressor", selfnorm.EnergyRegressor), ("crf", selfnorm.CRF), ("lm", selfnorm.LanguageModel)):
        names = inspect.signature(cls).parameters
        for name, initial, _, text, _, chooses in _core.option_list(table):
            assert (names[name.replace("-", "_")].default is None) == chooses
            assert text in cls.__doc__
            assert table == "classifier" or not chooses
    assert selfnorm.SelfNormalizedClassifier().epochs == 20 and selfnorm.SelfNormalizedClassifier(alpha=0.1).alpha == 0.1
    with pytest.raises(selfnorm.Error, match="learning_rate"):
        selfnorm.SelfNormalizedClassifier(learning_rate=-1).fit(np.eye(4), [0, 1, 0, 1])
    assert issubclass(selfnorm.Error, ValueError)


def test_a_density_says_how_sure_it_is():
    random = np.random.default_rng(1)
    X = random.normal(size=(2000, 2)) * [1, 3] + [0, 5]
    model = selfnorm.EnergyDensity(energy="gaussian").fit(X)
    truth = -0.5 * (X[:, 0] ** 2 + ((X[:, 1] - 5) / 3) ** 2) - np.log(2 * np.pi * 3)
    np.testing.assert_allclose(model.score(X), truth.mean(), atol=0.01)
    z = model.log_normalizer_
    assert z.low <= z.value <= z.high and not z.distrust
    assert model.bic(X) > -2 * model.score_samples(X).sum()
    drawn = model.sample(500, random_state=3)
    assert drawn.shape == (500, 2) and abs(drawn[:, 1].mean() - 5) < 1
    assert model.evaluate(X).is_trusted
    for state in (None, np.random.RandomState(1), np.random.default_rng(1)):
        assert model.sample(3, random_state=state).shape == (3, 2)


def test_a_predictive_distribution_is_one_object():
    random = np.random.default_rng(2)
    X = random.normal(size=(400, 2))
    y = 2 * X[:, 0] + 0.5 * random.normal(size=400)
    model = selfnorm.EnergyRegressor(ensemble=1, epochs=30, input_noise=0.0).fit(X, y)
    p = model.predict_dist(X[:50])
    np.testing.assert_allclose(model.predict(X[:50]), p.mean())
    np.testing.assert_allclose(p.cdf(p.ppf(0.3)), 0.3, atol=1e-5)
    np.testing.assert_allclose(p.var(), p.std() ** 2)
    low, high = p.interval(0.8)
    assert np.all(low < p.median()) and np.all(p.median() < high)
    np.testing.assert_allclose(p.log_pdf(y[:50]), model.log_proba(X[:50], y[:50]))
    grid = np.linspace(-8, 8, 801)
    density = p.pdf(np.tile(grid, (50, 1)))
    np.testing.assert_allclose(density.sum(axis=1) * 0.02, 1, atol=0.02)
    assert p.sample(7).shape == p.sample(7, None).shape == (50, 7) and p.crps(y[:50]).shape == (50,)
    assert len(p.highest_density(0.9)) == 50 and p.mode().shape == (50,)
    assert model.evaluate(X, y).nll < 1.2
    with pytest.raises(selfnorm.Error, match="shape"):
        p.cdf([1.0, 2.0])
    weighted = selfnorm.EnergyRegressor(ensemble=1, epochs=5).fit(X, y, sample_weight=np.r_[np.ones(200), np.zeros(200)])
    assert weighted.predict(X).shape == (400,)


def test_a_crf_takes_every_shape():
    words = [["the", "cat", "sat"], ["a", "dog", "ran"]] * 20
    y = [["D", "N", "V"]] * 40
    dicts = [[{"word": w, "length": len(w), "first": t == 0} for t, w in enumerate(s)] for s in words]
    lists = [[[f"word={w}"] for w in s] for s in words]
    for X in (dicts, lists, words, [[(w, w[-1]) for w in s] for s in words]):
        model = selfnorm.CRF().fit(X, y)
        assert model.predict(X[:2]) == y[:2] and model.predict_single(X[0]) == y[0]
        best = model.predict_n_best(X[:1], 3)[0]
        assert best[0][0] == y[0] and best[0][1] >= best[1][1] >= best[2][1]
        marginals = model.predict_marginals_single(X[0])
        assert abs(sum(marginals[0].values()) - 1) < 1e-5
        assert model.score(X, y) == 1.0
        assert pickle.loads(pickle.dumps(model)).predict(X[:2]) == y[:2]
    with pytest.raises(selfnorm.Error, match="token 1 .*no columns"):
        model.predict([[("the", "e"), (), ("sat", "t")]])
    with pytest.raises(selfnorm.Error, match="2 positions and 1 labels"):
        selfnorm.CRF().fit([["a", "b"], ["a"]], [["X"], ["Y"]])


def test_a_language_model_with_kenlm_names():
    sentences = ["the cat sat on the mat", "a dog ran to the door", "the bird slept here"] * 40
    model = selfnorm.LanguageModel(order=3, objective="exact", epochs=3, dimension=8, hidden=8).fit(sentences)
    full = list(model.full_scores("the cat flew"))
    assert [oov for _, _, oov in full] == [False, False, True, False] and [n for _, n, _ in full] == [2, 3, 3, 3]
    assert abs(model.score("the cat flew") - sum(p for p, _, _ in full)) < 1e-9
    np.testing.assert_allclose(model.log_probabilities("the cat flew").sum(), model.score("the cat flew") * np.log(10))
    from selfnorm import State
    state, after = State(), State()
    model.BeginSentenceWrite(state)
    total = 0
    for word in ("the", "cat", "flew", "</s>"):
        total += model.BaseScore(state, word, after)
        state, after = after, State()
    assert abs(total - model.score("the cat flew")) < 1e-9
    joined = "the\u00a0cat\u2003sat"  # one word: white space is that of ASCII
    assert len(list(model.full_scores(joined))) == len(model.log_probabilities(joined)) == 2
    np.testing.assert_allclose(model.perplexity(joined), np.exp(-model.log_probabilities(joined).mean()))
    model.order = 9  # a parameter of the next fit
    assert [n for _, n, _ in model.full_scores("the cat flew")] == [2, 3, 3, 3]
    assert model.perplexity(sentences[0]) < 30 and "cat" in model and "zebra" not in model
    model.NullContextWrite(state)
    assert model.score("cat", bos=False, eos=False) < 0
    assert model.evaluate(sentences[:3]).words == 6 + 1 + 6 + 1 + 4 + 1
