"""Training that is watched, stopped, resumed; memory, threads, forks; agreement with the command line; hostile inputs."""
import os
import resource
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import selfnorm


def test_a_callback_sees_steps_and_can_stop_a_training_that_then_resumes(clouds):
    X, y = clouds

    class Enough(Exception):
        pass

    seen = []

    def impatient(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise Enough

    model = selfnorm.SelfNormalizedClassifier(tolerance=1e-6)
    with pytest.raises(Enough):
        model.fit(X, y, callback=impatient)
    assert seen[-1]["step"] > seen[0]["step"] and "loss" in seen[0]
    assert os.path.exists(model.checkpoint_)
    model.fit(X, y, resume=True)
    whole = selfnorm.SelfNormalizedClassifier(tolerance=1e-6).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert not hasattr(model, "checkpoint_")
    with pytest.raises(selfnorm.Error, match="no checkpoint"):
        whole.fit(X, y, resume=True)


def test_ctrl_c_is_a_keyboard_interrupt(clouds, monkeypatch):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier(objective="nce", epochs=100000, patience=0)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    train = selfnorm._core.Classifier.train

    def interrupted(*words):  # without a callback, no Python runs in which the signal could be seen
        timer.start()
        return train(*words)

    monkeypatch.setattr(selfnorm._core.Classifier, "train", staticmethod(interrupted))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert os.path.exists(model.checkpoint_)
    os.unlink(model.checkpoint_)


def test_the_files_are_those_of_the_command_line(program, clouds, tmp_path):
    X, y = clouds
    np.savez(tmp_path / "data.npz", X=X, y=y)
    program("train", "classifier", tmp_path / "data.npz", "--out", tmp_path / "run", "--objective", "penalty", "--quiet")
    mine = selfnorm.SelfNormalizedClassifier(objective="penalty").fit(X, y)
    theirs = selfnorm.load(tmp_path / "run")
    assert isinstance(theirs, selfnorm.SelfNormalizedClassifier)
    np.testing.assert_array_equal(theirs.classes_, mine.classes_)
    np.testing.assert_array_equal(theirs.predict_log_proba(X), mine.predict_log_proba(X))  # bit for bit
    mine.save(tmp_path / "mine.safetensors")
    printed = program("score", tmp_path / "mine.safetensors", tmp_path / "data.npz", "--candidates", "1", "--quiet").stdout
    scores = np.array([float(line.split("\t")[2]) for line in printed.splitlines() if not line.startswith("#")])
    np.testing.assert_array_equal(scores, mine.score_candidates(X, [1], kind="exact").log_probabilities[:, 0])
    assert "report" in selfnorm.report(tmp_path / "run")._repr_html_()


@pytest.mark.parametrize("words, options", [([], {}), (["--alpha", "0.1"], {"alpha": 0.1}), (["--l2", "1e-6"], {"l2": 1e-6}),
                                            (["--no-calibrate"], {"calibrate": False})])
def test_what_is_not_said_is_chosen_as_on_the_command_line(program, clouds, tmp_path, words, options):
    X, y = clouds
    np.savez(tmp_path / "data.npz", X=X, y=y)
    program("train", "classifier", tmp_path / "data.npz", "--out", tmp_path / "run", "--quiet", *words)
    mine = selfnorm.SelfNormalizedClassifier(**options).fit(X, y)
    np.testing.assert_array_equal(selfnorm.load(tmp_path / "run").decision_function(X), mine.decision_function(X))  # bit for bit
    assert ("chosen for 3 classes" in "".join(mine.notes_)) == (not words or "--l2" in words)


@pytest.mark.parametrize("words, options, has_pieces", [([], {}, True), (["--keep-case"], {"lowercase": False}, True),
                                                        (["--ngrams", "2"], {"ngrams": 2}, False),
                                                        (["--no-tf-idf"], {"tf_idf": False}, False),
                                                        (["--objective", "exact"], {"objective": "exact"}, False)])
def test_texts_are_read_as_on_the_command_line(program, tmp_path, words, options, has_pieces):
    labels = ["pay", "go", "10", "9"] * 100
    texts = [f"{['payment', 'travelling', 'Ten', 'nine'][i % 4]} number {i % 37} of {'abcde'[i % 5] * 3}" for i in range(400)]
    (tmp_path / "data.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in zip(labels, texts)))
    program("train", "classifier", tmp_path / "data.tsv", "--out", tmp_path / "run", "--quiet", *words)
    mine, theirs = selfnorm.SelfNormalizedClassifier(**options).fit(texts, labels), selfnorm.load(tmp_path / "run")
    assert list(mine.classes_) == list(theirs.classes_) and mine.model_.columns == theirs.model_.columns
    asked = texts + ["payments", "a traveller", "tens", "nineteen"]
    np.testing.assert_array_equal(theirs.decision_function(asked), mine.decision_function(asked))  # bit for bit
    assert ("pieces of words (char_ngrams_min=3 char_ngrams_max=5)" in "".join(mine.notes_)) == has_pieces


def test_training_ends_with_the_ladder_of_the_command_line(program, tmp_path):
    random = np.random.default_rng(0)
    y = np.arange(20000) % 1000
    X = (0.2 * random.normal(size=(1000, 4))[y] + 0.7 * random.normal(size=(20000, 4))).astype(np.float32)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    options = {"objective": "exact", "tolerance": 0.3, "within": 0.5}
    program("train", "classifier", tmp_path / "data.npz", "--out", tmp_path / "run", "--quiet", "--no-report",
            *(word for name, value in options.items() for word in (f"--{name}", value)))
    mine, theirs = selfnorm.SelfNormalizedClassifier(**options).fit(X, y), selfnorm.load(tmp_path / "run")
    found, expected = (model.score_candidates(X[:500], [0, 7], within=0.5) for model in (mine, theirs))
    assert found.kind == expected.kind not in ("exact", "raw") and found.within == expected.within <= 0.5
    np.testing.assert_array_equal(found.log_probabilities, expected.log_probabilities)
    assert selfnorm.SelfNormalizedClassifier(**options, no_ladder=True).fit(X, y).score_candidates(X[:9], [0], within=0.5).kind == "exact"


def test_candidates_are_scored_as_the_model_promises():
    random = np.random.default_rng(0)
    y = np.arange(6000) % 1000
    X = (0.2 * random.normal(size=(1000, 4))[y] + 0.7 * random.normal(size=(6000, 4))).astype(np.float32)
    model = selfnorm.SelfNormalizedClassifier(objective="exact", tolerance=0.3, within=0.5, rho=0.05, conf=0.95).fit(X, y)
    found = model.score_candidates(X[:50], [0, 7])
    assert found.kind != "exact" and found.within <= 0.5
    assert found.certificate.rho == 0.05 and found.certificate.confidence == 0.95 and found.certificate.eps == found.within
    assert model.score_candidates(X[:50], [0, 7], rho=0.01).kind == "exact"
    assert model.score_candidates(X[:50], [0, 7], within=1e-6).kind == "exact"


def test_other_families_are_those_of_the_command_line(program, clouds, tmp_path):
    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(1200)]
    sentences = [" ".join(random.choice(words, size=12)) for _ in range(1500)]
    (tmp_path / "text").write_text("\n".join(sentences) + "\n")
    program("train", "lm", tmp_path / "text", "--out", tmp_path / "lm", "--epochs", "1", "--quiet", "--no-report")
    mine, theirs = selfnorm.LanguageModel(epochs=1).fit(sentences), selfnorm.load(tmp_path / "lm")
    np.testing.assert_array_equal(mine.log_probabilities(sentences[0]), theirs.log_probabilities(sentences[0]))
    X, _ = clouds
    np.save(tmp_path / "x.npy", X)
    program("train", "density", tmp_path / "x.npy", "--out", tmp_path / "density", "--steps", "50", "--quiet", "--no-report", "--hold-out", "0.2")
    mine, theirs = selfnorm.EnergyDensity(steps=50, hold_out=0.2).fit(X), selfnorm.load(tmp_path / "density")
    np.testing.assert_array_equal(mine.score_samples(X), theirs.score_samples(X))
    with pytest.raises(selfnorm.Error, match="hold_out"):
        selfnorm.EnergyDensity(hold_out=0.7).fit(X)
    every = selfnorm.SelfNormalizedClassifier(objective="exact", hold_out=0).fit(X, np.arange(600) % 3)
    assert every.predict_proba(X).shape == (600, 3)


def test_candidates_are_scored_by_the_rungs_of_a_file(program, tmp_path):
    random = np.random.default_rng(0)
    y = np.arange(6000) % 2000
    X = (0.2 * random.normal(size=(2000, 4))[y] + 0.7 * random.normal(size=(6000, 4))).astype(np.float32)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    selfnorm.SelfNormalizedClassifier(objective="exact", tolerance=0.3).fit(X, y).save(tmp_path / "m.safetensors")
    program("normalize", tmp_path / "m.safetensors", "--states", tmp_path / "data.npz", "--within", "0.5", "--out", tmp_path / "l.safetensors")
    model = selfnorm.load(tmp_path / "l.safetensors")
    found = model.score_candidates(X, [0, 3], within=0.5)
    assert found.kind not in ("exact", "raw") and 0 < found.within <= 0.5 and found.certificate.rho == 0.01
    error = np.abs(found.log_probabilities - model.predict_log_proba(X)[:, [0, 3]]).max(axis=1)
    assert 0 < np.quantile(error, 0.98) <= found.within
    assert model.score_candidates(X[:5], [0], within=1e-6).kind == "exact"


def test_load_gives_the_right_estimator(clouds, tmp_path):
    X, y = clouds
    fitted = [selfnorm.SelfNormalizedClassifier().fit(X, y), selfnorm.EnergyDensity(energy="gaussian").fit(X),
              selfnorm.EnergyRegressor(ensemble=1, epochs=3).fit(X, X[:, 0].astype(float)),
              selfnorm.CRF().fit([["a", "b"]] * 4, [["X", "Y"]] * 4),
              selfnorm.LanguageModel(objective="exact", epochs=1, dimension=4, hidden=4, order=2).fit(["a b c"] * 30)]
    for model in fitted:
        model.save(tmp_path / "model")
        again = selfnorm.load(tmp_path / "model")
        assert type(again) is type(model)
    assert again.order == 2
    constant = np.c_[X, np.zeros(600)]  # a column that the encoder leaves out counts all the same
    selfnorm.EnergyRegressor(ensemble=1, epochs=3).fit(constant, X[:, 0].astype(float)).save(tmp_path / "model")
    again = selfnorm.load(tmp_path / "model")
    assert again.n_features_in_ == 4 and again.model_.distributions(constant[:3]).rows == 3
    for wrong in (X, np.c_[constant, X]):
        with pytest.raises(selfnorm.Error, match="trained on 4"):
            again.model_.distributions(wrong.astype(np.float64))
    with pytest.raises(selfnorm.Error, match="no such file|cannot"):
        selfnorm.load(tmp_path / "none")


def test_no_copy_of_large_arrays(clouds):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier().fit(X, y)
    density = selfnorm.EnergyDensity(energy="gaussian").fit(X)
    large = np.zeros((80_000_000, 3), dtype=np.float32)[::2]  # 1 GB of memory that is never written to
    large.flags.writeable = False
    model.model_.predict(large[:1000])
    density.model_.log_densities(large[:1000])
    part = large[:20_000_000]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert model.model_.predict(part).shape == (20_000_000,)  # 80 MB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # kB; the array has 240 MB


def test_no_copy_of_sparse_values():
    sparse = pytest.importorskip("scipy.sparse")
    rows, each = 100_000, 300  # zeros that are stored: 240 MB of float64
    X = sparse.csr_matrix((np.zeros(rows * each), np.tile(np.arange(each, dtype=np.int32), rows), np.arange(rows + 1, dtype=np.int32) * each),
                          shape=(rows, each))
    model = selfnorm.SelfNormalizedClassifier().fit(sparse.random(100, each, 0.1, format="csr", random_state=0), np.arange(100) % 3)
    model.model_.predict(selfnorm._base.as_data(X[:1000]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert model.model_.predict(selfnorm._base.as_data(X)).shape == (rows,)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000  # kB


def test_rows_of_any_layout_are_the_same_rows(clouds, tmp_path):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier().fit(X, y)
    expected = model.predict_proba(X)
    wide = np.zeros((600, 6), dtype=np.float32)
    wide[:, ::2] = X
    np.save(tmp_path / "x.npy", X)
    for same in (np.asfortranarray(X), wide[:, ::2], X[::-1][::-1], X.astype(np.float64), np.load(tmp_path / "x.npy", mmap_mode="r")):
        np.testing.assert_array_equal(model.predict_proba(same), expected)


def test_threads_share_a_model(clouds):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier().fit(X, y)
    expected, found = model.predict_proba(X), [None] * 8

    def work(i):
        found[i] = model.predict_proba(X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        np.testing.assert_array_equal(one, expected)


def test_a_forked_child_predicts(clouds):
    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier().fit(X, y)
    expected = model.predict(X)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(model.predict(X), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("X, y, words", [
    (np.full((4, 2), np.nan), [0, 1, 0, 1], "NaN|nan"),
    (np.full((4, 2), 1e300), [0, 1, 0, 1], "finite|large"),
    (np.zeros((4, 2)), [0, 0, 0, 0], "at least two"),
    (np.zeros((4, 2)), [0, 1], "inconsistent|labels"),
    (np.zeros((0, 2)), [], "0 sample|no rows"),
    ([["a", "b"]], ["x"], "could not convert|numeric|at least"),
])
def test_mistakes_are_value_errors(X, y, words):
    with pytest.raises(ValueError, match=words):
        selfnorm.SelfNormalizedClassifier().fit(X, y)


def test_errors_name_keywords_and_what_was_given():
    with pytest.raises(selfnorm.Error, match=r"^the sentences: no word occurs 2 times or more; lower min_count$"):
        selfnorm.LanguageModel().fit(["a b", "c d"])
    with pytest.raises(selfnorm.Error, match="the data has no label '--on'"):
        selfnorm.SelfNormalizedClassifier(class_weight={"--on": 2.0}).fit(np.eye(4), ["a", "b", "a", "b"])
    with pytest.raises(selfnorm.Error, match="give its sides with lower=X,... and upper=X"):
        selfnorm.EnergyDensity(energy="truncated-gaussian").fit(np.eye(4))


def test_lone_surrogates_and_odd_texts():
    model = selfnorm.SelfNormalizedClassifier().fit(["a\tb\n", "c\0d", "\u00e9", ""] * 5, ["x", "y", "x", "y"] * 5)
    assert model.predict(["", "\U0001f600"]).shape == (2,)
    with pytest.raises(ValueError):
        model.predict(["\ud800"])


def test_importing_is_quick_because_it_imports_little():
    code = "import sys, selfnorm; print(sorted(m for m in ('sklearn', 'torch', 'pandas', 'scipy') if m in sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_runtime_needs_no_extension(clouds, tmp_path):
    from selfnorm.runtime import Error, Model

    X, y = clouds
    model = selfnorm.SelfNormalizedClassifier().fit(X, y)
    model.save(tmp_path / "m.safetensors")
    runtime = Model(tmp_path / "m.safetensors")
    runtime.verify()
    assert (runtime.classes, runtime.features, runtime.labels) == (3, 3, ["0", "1", "2"])
    row = X[0].tolist()
    np.testing.assert_allclose(runtime.score(row, ["2", 0], kind="exact"), model.predict_log_proba(X[:1])[0, [2, 0]], atol=1e-6)
    np.testing.assert_allclose(runtime.score(row, [1]), model.decision_function(X[:1])[0, 1], atol=1e-6)
    assert runtime.top(row, 1)[0][0] == str(model.predict(X[:1])[0])
    np.testing.assert_allclose(runtime.log_normalizer_of(row) - runtime.log_normalizer, model.log_normalizer(X[:1])[0], atol=1e-6)
    assert runtime.score(row, [np.int64(1)]) == runtime.score(row, [1])
    assert runtime.score(row, [1], kind="auto") == runtime.score(row, [1], kind="exact")  # without a ladder
    with pytest.raises(Error, match="expected"):
        runtime.score([1.0], [0])
    text = selfnorm.SelfNormalizedClassifier().fit(["good", "bad"] * 10, ["+", "-"] * 10)
    text.save(tmp_path / "t.safetensors")
    runtime = Model(tmp_path / "t.safetensors")
    assert runtime.top("good good", 1)[0][0] == "+"
    for one in ("good", "good bad " * 200):
        np.testing.assert_allclose(runtime.log_normalizer_of(one) - runtime.log_normalizer, text.log_normalizer([one])[0], atol=1e-5)
