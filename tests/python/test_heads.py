"""Heads as arrays and tensors, and checkpoint directories of every layout."""
import copy
import json
import os
import pickle

import numpy as np
import pytest

import selfnorm
from conftest import read_safetensors, write_safetensors


def head(spread=0.05, classes=60, features=8, states=6000, seed=0):
    """log Z is nearly linear in h when the rows of W are alike."""
    random = np.random.default_rng(seed)
    W = (random.normal(size=features) + spread * random.normal(size=(classes, features))).astype(np.float32)
    return W, random.normal(size=classes).astype(np.float32), random.normal(size=(states, features)).astype(np.float32)


def log_z(W, b, H):
    scores = H.astype(np.float64) @ W.T.astype(np.float64) + b
    top = scores.max(axis=1)
    return top + np.log(np.exp(scores - top[:, None]).sum(axis=1))


def probabilities(W, b, H):
    return np.exp(H @ W.T + b - log_z(W, b, H)[:, None])


def test_a_head_of_arrays():
    W, b, H = head()
    found = selfnorm.normalize_head(W, b, H, within=0.1)
    assert found.rung == "raw" and found.eps <= 0.1 < found.before.rms and found.after.smallest_eps <= 0.1
    assert [rung.name for rung in found.rungs][-1] == "exact" and found.rungs[-1].cost == 60
    np.testing.assert_allclose(probabilities(found.weight, found.bias, H[:50]), probabilities(W, b, H[:50]), atol=1e-5)
    assert np.sqrt(np.mean(log_z(found.weight, found.bias, H) ** 2)) < 0.1
    candidates = np.array([[1, 5]] * 20)
    exact = np.log(probabilities(W, b, H[:20]))[:, [1, 5]]
    np.testing.assert_allclose(found.log_prob(H[:20], candidates), exact, atol=0.1)
    with pytest.raises(ValueError, match="expected one class for each state"):
        found.log_prob(H[:20], [1, 5])
    wide = selfnorm.normalize_head(*head(0.7), within=1e-6)
    assert wide.rung == "exact"
    W, b, H = head(0.7)
    np.testing.assert_allclose(wide.log_prob(H[:20], candidates), np.log(probabilities(W, b, H[:20]))[:, [1, 5]], atol=1e-3)
    with pytest.raises(selfnorm.Error, match="states of 4"):
        selfnorm.normalize_head(W, b, H[:, :4])
    assert selfnorm.normalize_head(W, None, H.reshape(60, 100, 8)).before.rows == 3000


def test_wrong_numbers_name_the_keyword_and_the_range():
    W, b, H = head()
    for name, wrong, expected in (("clusters", -1, "a whole number from 0"), ("clusters", 1.5, "a whole number"), ("seed", -1, "a whole number from 0"),
                                  ("within", None, "a number"), ("hold_out", "abc", "a number"), ("keep_all", "x", "True or False")):
        with pytest.raises(selfnorm.Error, match=f"{name}: found .*; expected {expected}"):
            selfnorm.normalize_head(W, b, H, **{name: wrong})
    with pytest.raises(selfnorm.Error, match="hidden: found -1"):
        selfnorm.fit_normalizer(H, log_z(W, b, H), hidden=-1)


def test_no_rung_of_a_head_is_above_0():
    W, b, H = head(0.3)
    found = selfnorm.normalize_head(W, b, H, keep_all=True)
    best = np.argmax(H @ found.weight.T + found.bias, axis=1)
    for rung in [rung.name for rung in found.rungs]:
        log_p = found.log_prob(H, best, rung)
        raw = (H @ found.weight.T + found.bias)[np.arange(len(H)), best] - found.log_normalizer(H, rung)
        assert log_p.max() <= (1e-5 if rung == "exact" else 0)
        np.testing.assert_allclose(log_p, np.minimum(raw, 0), atol=1e-4)
    for same in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):  # of what was opened, too
        np.testing.assert_array_equal(same.log_normalizer(H), found.log_normalizer(H))


def test_no_rung_of_a_torch_head_is_above_0():
    torch = pytest.importorskip("torch")
    from selfnorm.torch import SelfNormalizedHead

    linear = torch.nn.Linear(8, 60)
    with torch.no_grad():
        linear.weight.mul_(0)
        linear.bias.fill_(1.0)  # every log Z is log 60 + 1
    layer = SelfNormalizedHead(linear)
    layer.kind = layer.rung = "raw"
    assert layer.log_prob(torch.zeros(3, 8), torch.tensor([[0, 1]] * 3)).max().item() == 0


def test_a_head_of_torch():
    torch = pytest.importorskip("torch")
    from selfnorm.torch import SelfNormalizedHead

    W, b, H = head()
    found = selfnorm.normalize_head(torch.tensor(W), torch.tensor(b), torch.tensor(H))
    assert isinstance(found.weight, torch.Tensor) and found.rung == "raw"
    assert selfnorm.normalize_head(torch.tensor(W).bfloat16(), None, torch.tensor(H)).weight.dtype == torch.bfloat16
    few = np.tile(H[:20], (300, 1))  # those held out are all of them
    for kind in (torch.bfloat16, torch.float16):  # the certificate is that of what is returned
        found = selfnorm.normalize_head(torch.tensor(W).to(kind), torch.tensor(b).to(kind), few)
        left = log_z(found.weight.float().numpy(), found.bias.float().numpy(), H[:20])
        assert left.max() == pytest.approx(found.after.largest, abs=1e-5) and left.min() == pytest.approx(found.after.least, abs=1e-5)
    for spread, rung, within in ((0.05, "raw", 0.1), (0.7, "exact", 1e-6)):
        W, b, H = head(spread)
        linear = torch.nn.Linear(8, 60)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(W))
            linear.bias.copy_(torch.tensor(b))
        layer, h = SelfNormalizedHead(linear), torch.tensor(H[:30])
        before = torch.log_softmax(layer(h), dim=-1).detach()
        layer.normalize(torch.tensor(H), within=within)
        assert layer.rung == rung
        torch.testing.assert_close(layer.log_prob(h), before, atol=1e-4, rtol=0)
        candidates = torch.randint(60, (30, 4))
        error = (layer.log_prob(h, candidates) - before.gather(1, candidates)).abs().max().item()
        assert error <= max(layer.audit(h)["largest"], 0) + 1e-4
        assert layer.certificate.rows == 3000
        (-layer.log_prob(h, candidates)).sum().backward()


def test_tensors_are_taken_where_they_are():
    torch = pytest.importorskip("torch")
    from selfnorm.head import as_numpy

    class Foreign:  # of a library that speaks DLPack and nothing else
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **words):
            return self.tensor.__dlpack__(**words)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    tensor = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    for given in (tensor, tensor.requires_grad_(), Foreign(torch.clone(tensor.detach()))):
        found = as_numpy(given)
        source = given.tensor if isinstance(given, Foreign) else given.detach()
        assert found.__array_interface__["data"][0] == source.data_ptr()
    np.testing.assert_array_equal(as_numpy(tensor.detach().bfloat16()), tensor.detach().numpy())
    W, b, H = head()
    mine, theirs = selfnorm.normalize_head(W, b, H), selfnorm.normalize_head(*(Foreign(torch.tensor(x)) for x in (W, b, H)))
    np.testing.assert_array_equal(mine.weight, theirs.weight)


def clustered(classes=1200, features=5, centres=12, states=3000):
    random = np.random.default_rng(3)
    middle = 0.7 * random.normal(size=(centres, features))
    W = middle[np.arange(classes) % centres] + 0.2 * random.normal(size=(classes, features))
    return W.astype(np.float32), random.normal(size=(states, features)).astype(np.float32)


def test_the_whole_ladder_of_a_head():
    W, H = clustered()
    found = selfnorm.normalize_head(W, None, H, keep_all=True)
    assert found.rung != "exact" and found.eps <= 0.1 and found.fitted == found.certified == 1500
    names = [rung.name for rung in found.rungs]
    assert {"raw", "linear", "network-64", "exact"} <= set(names) and any(name.startswith("nearest") for name in names)
    cheaper = [rung for rung in found.rungs if rung.cost < found.rungs[names.index(found.rung)].cost]
    assert all(rung.eps > 0.1 for rung in cheaper)
    exact = log_z(found.weight, found.bias, H)
    for rung in found.rungs:
        if rung.cost < 1200:
            error = np.abs(found.log_normalizer(H, rung.name) - exact)
            assert np.mean(error > rung.eps) <= 0.02 and np.sqrt(np.mean(error ** 2)) < 1.5 * rung.rms + 1e-3, rung.name
    with pytest.raises(selfnorm.Error, match="no such rung"):
        found.log_normalizer(H, "nearest-9")


@pytest.mark.parametrize("kind", ["network", "nearest"])
def test_a_torch_head_leaves_tied_embeddings_and_travels_whole(kind):
    torch = pytest.importorskip("torch")
    from selfnorm.torch import SelfNormalizedHead

    W, H = clustered()
    states = torch.tensor(H)
    embedding, linear = torch.nn.Embedding(1200, 5), torch.nn.Linear(5, 1200, bias=False)
    linear.weight = embedding.weight
    with torch.no_grad():
        embedding.weight.copy_(torch.tensor(W))
    layer, h = SelfNormalizedHead(linear), states[:30]
    before = torch.log_softmax(layer(h), dim=-1).detach()
    rungs = selfnorm.normalize_head(W, None, H, keep_all=True).rungs
    cost = max(rung.cost for rung in rungs if rung.kind == kind and rung.cost < 1200)
    if kind == "network":  # the most precise of those that are no dearer
        assert layer.normalize(states, max_cost=min(cost, 70)).kind in ("network", "linear")
    else:
        layer.normalize(states, within=0.1)
    np.testing.assert_array_equal(embedding.weight.detach().numpy(), W)
    candidates = torch.randint(1200, (30, 4))
    found = layer.log_prob(h, candidates)
    assert (found - before.gather(1, candidates)).abs().max().item() <= layer.audit(h)["largest"] + 1e-4
    other = SelfNormalizedHead(torch.nn.Linear(5, 1200, bias=False))
    other.load_state_dict(layer.state_dict())
    assert other.rung == layer.rung and other.certificate.rows == 1500
    torch.testing.assert_close(other.log_prob(h, candidates), found)
    for same in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        torch.testing.assert_close(same.log_prob(h, candidates), found)
    assert other.double().log_prob(h.double(), candidates).dtype == torch.float64


def test_what_a_head_needs_is_opened_once(monkeypatch):
    from selfnorm import _core

    W, H = clustered()
    found, opened, given = selfnorm.normalize_head(W, None, H, keep_all=True), [], _core.HeadLadder
    name = next(rung.name for rung in found.rungs if rung.kind == "nearest")
    expected = found.log_normalizer(H[:9], name)
    monkeypatch.setattr(_core, "HeadLadder", lambda *words: opened.append(1) or given(*words))
    found = type(found)(found)
    for _ in range(3):
        np.testing.assert_array_equal(found.log_normalizer(H[:9], name), expected)
    assert len(opened) == 1
    torch = pytest.importorskip("torch")
    from selfnorm import torch as module

    layer = module.SelfNormalizedHead(torch.nn.Linear(5, 1200))
    with torch.no_grad():
        layer.linear.weight.copy_(torch.tensor(found.weight))
        layer.linear.bias.copy_(torch.tensor(found.bias))
    layer.rung, layer.kind = name, "nearest"
    layer._set_ladder(None, found.ladder)
    shapes, taken = [], module.as_numpy
    monkeypatch.setattr(module, "as_numpy", lambda values: shapes.append(tuple(values.shape)) or taken(values))
    for _ in range(3):
        np.testing.assert_allclose(layer.log_normalizer(torch.tensor(H[:9]), exact=False).numpy(), expected, atol=1e-5)
    assert len(opened) == 2 and set(shapes) == {(9, 5)}


SMALL = {"vocab_size": 60, "hidden_size": 8}
LAYOUTS = {
    "single": dict(names=("model.embed_tokens.weight", "lm_head.weight"), config={"tie_word_embeddings": False}),
    "sharded": dict(names=("model.embed_tokens.weight", "lm_head.weight"), config={}, shards=3),
    "tied": dict(names=("model.embed_tokens.weight", None), config={"tie_word_embeddings": True}),
    "tied, sharded": dict(names=("transformer.wte.weight", None), config={}, shards=2),
    "tied inside text_config": dict(names=("model.language_model.embed_tokens.weight", None),
                                    config={"text_config": {"tie_word_embeddings": True}}),
    "says tied, is not": dict(names=("model.embed_tokens.weight", "lm_head.weight"), config={"tie_word_embeddings": True}, notes=1),
    "says untied, is tied": dict(names=("model.embed_tokens.weight", None), config={"tie_word_embeddings": False}, notes=1),
    "with a bias": dict(names=("transformer.wte.weight", "lm_head.weight"), config={}, bias=True),
    "scaled": dict(names=("model.embed_tokens.weight", None), config={"logit_scale": 0.5, "tie_word_embeddings": True}, scale=0.5),
    "divided": dict(names=("model.embed_tokens.weight", "lm_head.weight"), config={"logits_scaling": 4.0}, scale=0.25),
    "t5": dict(names=("shared.weight", None), config={"model_type": "t5", "tie_word_embeddings": True}, stored=8 ** -0.5),
    "four keys and a text_config": dict(names=("model.language_model.embed_tokens.weight", None),
                                        config={"model_type": "gemma3", "text_config": {"tie_word_embeddings": True}}),
    "mamba": dict(names=("backbone.embeddings.weight", None), config={"tie_word_embeddings": True}),
    "tied embeddings, named": dict(names=("backbone.embeddings.weight", None), config={}, given="backbone.embeddings.weight"),
    "tied by the config, named": dict(names=("odd.weight", None), config={"tie_word_embeddings": True}, given="odd.weight"),
    "tied, with a bias": dict(names=("transformer.wte.weight", None), config={"tie_word_embeddings": True}, bias=True),
    "a bias of 0 after the head": dict(names=("model.shared.weight", "lm_head.weight"), config={}, later=0.0),
    "a single file and an index": dict(names=("model.embed_tokens.weight", "lm_head.weight"), config={}, stale_index=True),
}


def checkpoint(folder, names, config, shards=1, bias=False, kind="F32", later=None, stale_index=False, **_):
    W, b, H = head()
    os.makedirs(folder)
    embedding, own = names
    tensors = {"layer.0.weight": ("F32", np.eye(3)), embedding: (kind, W if own is None else 0.1 * W + 1)}
    if own:
        tensors[own] = (kind, W)
    if bias:
        tensors[(own or "lm_head.weight").replace("weight", "bias")] = (kind, b)
    if later is not None:
        tensors["final_logits_bias"] = ("F32", np.full((1, 60), later))
    if stale_index:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"lm_head.weight": "config.json"}}))
    if shards == 1:
        write_safetensors(folder / "model.safetensors", tensors, {"format": "pt"})
    else:
        places = {name: f"model-0000{i % shards + 1}-of-0000{shards}.safetensors" for i, name in enumerate(tensors)}
        for file in set(places.values()):
            write_safetensors(folder / file, {n: t for n, t in tensors.items() if places[n] == file}, {"format": "pt"})
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    (folder / "config.json").write_text(json.dumps({**SMALL, **config}))
    (folder / "tokenizer.json").write_text("{}")
    return W, b if bias else np.zeros(60, np.float32), H


def tensors_of(folder):
    out, metadata = {}, {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors, words = read_safetensors(file)
        out.update(tensors)
        metadata.update(words)
    return out, metadata


@pytest.mark.parametrize("kind", ["F64", "F32", "F16", "BF16"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_checkpoint_directories(name, kind, tmp_path):
    layout = LAYOUTS[name]
    W, b, H = checkpoint(tmp_path / "model", kind=kind, **layout)
    before, _ = tensors_of(tmp_path / "model")
    context = pytest.warns(UserWarning, match="the tensors decide") if layout.get("notes") else _nothing()
    with context:
        found = selfnorm.normalize_checkpoint(tmp_path / "model", H, link=True, weight_name=layout.get("given", ""))
    after, metadata = tensors_of(tmp_path / "model-normalized")
    own = layout["names"][1] or "lm_head.weight"
    scale, stored = layout.get("scale", 1), layout.get("stored", 1)
    W = before[layout["names"][1] or layout["names"][0]] * np.float32(scale)
    b = b * np.float32(scale)
    new, bias = after[own] / stored, after.get("lm_head.bias", np.zeros(60))
    assert found.was_tied == (layout["names"][1] is None) and found.weight == own and found.logit_scale == scale
    tolerance = {"F64": 1e-5, "F32": 1e-5, "F16": 5e-3, "BF16": 3e-2}[kind]
    np.testing.assert_allclose(probabilities(new, bias, H[:100]), probabilities(W, b, H[:100]), atol=tolerance)
    constant = float(metadata["selfnorm.log_normalizer"])
    assert constant == pytest.approx(found.log_normalizer) and (constant == 0) == bool(layout.get("bias"))
    assert np.sqrt(np.mean((log_z(new, bias, H) - constant) ** 2)) < 0.1 < np.std(log_z(W, b, H))
    for tensor, values in before.items():  # embeddings and everything else
        if tensor not in (own, "lm_head.bias"):
            np.testing.assert_array_equal(after[tensor], values)
    config = json.loads((tmp_path / "model-normalized" / "config.json").read_text())
    assert config["tie_word_embeddings"] is False and config.get("text_config", {}).get("tie_word_embeddings", False) is False
    assert config.get("logit_scale", 1) == config.get("logits_scaling", 1) == 1
    assert os.path.samefile(tmp_path / "model" / "tokenizer.json", tmp_path / "model-normalized" / "tokenizer.json")
    if layout.get("shards", 1) > 1:
        index = json.loads((tmp_path / "model-normalized" / "model.safetensors.index.json").read_text())["weight_map"]
        assert index[own] == found.shard and set(index) == set(after)
        for file in (tmp_path / "model").glob("*.safetensors"):
            assert os.path.samefile(file, tmp_path / "model-normalized" / file.name) == (file.name != found.shard)


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def test_padding_is_left_out_of_log_z(tmp_path):
    W, b, H = checkpoint(tmp_path / "m", **LAYOUTS["single"])
    found = selfnorm.normalize_checkpoint(tmp_path / "m", H, vocabulary=50)
    new = tensors_of(tmp_path / "m-normalized")[0]["lm_head.weight"]
    assert new.shape == (60, 8) and found.classes == 50
    residual = log_z(new[:50], np.zeros(50), H) - found.log_normalizer
    assert np.sqrt(np.mean(residual ** 2)) < 0.05
    np.testing.assert_allclose(probabilities(new, 0, H[:50]), probabilities(W, 0, H[:50]), atol=1e-4)
    with pytest.raises(selfnorm.Error, match="vocabulary of 61"):
        selfnorm.normalize_checkpoint(tmp_path / "m", H, out=tmp_path / "n", vocabulary=61)


def test_padding_moves_with_its_biases(tmp_path):
    W, b, H = checkpoint(tmp_path / "m", **LAYOUTS["with a bias"])
    found = selfnorm.normalize_checkpoint(tmp_path / "m", H, vocabulary=50)
    new = tensors_of(tmp_path / "m-normalized")[0]
    weight, bias = new["lm_head.weight"], new["lm_head.bias"]
    assert weight.shape == (60, 8) and bias.shape == (60,) and found.log_normalizer == 0
    assert np.sqrt(np.mean(log_z(weight[:50], bias[:50], H) ** 2)) < 0.05
    np.testing.assert_allclose(probabilities(weight, bias, H[:50]), probabilities(W, b, H[:50]), atol=1e-4)


def test_a_bias_that_would_be_left_out_is_refused(tmp_path):
    _, _, H = checkpoint(tmp_path / "apart", names=("transformer.wte.weight", "lm_head.weight"), config={}, bias=True, shards=4)
    with pytest.raises(selfnorm.Error, match="lm_head.bias is in .*expected both in one file"):
        selfnorm.normalize_checkpoint(tmp_path / "apart", H)
    checkpoint(tmp_path / "later", names=("model.shared.weight", "lm_head.weight"), config={}, later=0.5)
    with pytest.raises(selfnorm.Error, match="final_logits_bias is not 0"):
        selfnorm.normalize_checkpoint(tmp_path / "later", H)
    checkpoint(tmp_path / "good", **LAYOUTS["single"])
    with pytest.raises(selfnorm.Error, match="no tensor odd.bias"):
        selfnorm.normalize_checkpoint(tmp_path / "good", H, bias_name="odd.bias")
    with pytest.raises(selfnorm.Error, match="lm_head.weight is the head"):
        selfnorm.normalize_checkpoint(tmp_path / "good", H, weight_name="model.embed_tokens.weight")


def test_the_new_directory_lies_outside_and_nothing_of_the_user_is_removed(tmp_path, monkeypatch):
    _, _, H = checkpoint(tmp_path / "model", **LAYOUTS["single"])
    for inside in (tmp_path / "model" / "new", tmp_path / "model" / "a" / ".." / "new"):
        with pytest.raises(selfnorm.Error, match="expected a place outside"):
            selfnorm.normalize_checkpoint(tmp_path / "model", H, out=inside)
    (tmp_path / "model-normalized.part").mkdir()
    (tmp_path / "model-normalized.part" / "mine").write_text("kept")
    monkeypatch.chdir(tmp_path / "model")
    found = selfnorm.normalize_checkpoint(".", H)
    assert os.path.samefile(found.out, tmp_path / "model-normalized")
    assert (tmp_path / "model-normalized.part" / "mine").read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == ["model", "model-normalized", "model-normalized.part"]
    assert os.stat(found.out).st_mode == os.stat(tmp_path / "model").st_mode


@pytest.mark.parametrize("options", [{"hold_out": v} for v in (0, 1, -1, float("nan"))] + [{"within": 0}])
def test_options_out_of_range_are_errors(options, tmp_path):
    _, _, H = checkpoint(tmp_path / "model", **LAYOUTS["single"])
    with pytest.raises(selfnorm.Error, match="expected"):
        selfnorm.normalize_checkpoint(tmp_path / "model", H, **options)


def test_files_that_cannot_be_copied_are_errors(tmp_path):
    _, _, H = checkpoint(tmp_path / "model", **LAYOUTS["single"])
    (tmp_path / "model-file").write_text("")
    with pytest.raises(selfnorm.Error, match="cannot be"):
        selfnorm.normalize_checkpoint(tmp_path / "model", H, out=tmp_path / "model-file" / "x")
    os.symlink("nowhere", tmp_path / "model" / "broken")
    with pytest.raises(selfnorm.Error, match="broken: cannot be copied"):
        selfnorm.normalize_checkpoint(tmp_path / "model", H)
    assert sorted(os.listdir(tmp_path)) == ["model", "model-file"]


def test_capped_scores_get_a_normalizer_of_their_own():
    W, _, H = head(0.4, states=4000)
    capped = 3 * np.tanh((H @ W.T).astype(np.float64) / 3)
    exact = np.log(np.exp(capped).sum(axis=1))
    found = selfnorm.fit_normalizer(H, exact, hidden=32)
    error = exact - found.log_normalizer(H)
    assert found.fitted == found.certified == 2000 and np.mean(np.abs(error) > found.eps) <= 0.01
    assert found.rms < 0.5 * exact.std() and abs(np.sqrt(np.mean(error ** 2)) - found.rms) < 0.2 * found.rms
    assert selfnorm.fit_normalizer(H, exact, hidden=0).rms > found.rms
    with pytest.raises(selfnorm.Error, match="3999 values of log Z for 4000 states"):
        selfnorm.fit_normalizer(H, exact[1:])
    with pytest.raises(selfnorm.Error, match="log Z 7 .*NaN"):
        selfnorm.fit_normalizer(H, np.where(np.arange(4000) == 7, np.nan, exact))


def test_what_cannot_be_normalised_says_why(tmp_path):
    _, _, H = checkpoint(tmp_path / "capped", names=("model.embed_tokens.weight", None), config={"final_logit_softcapping": 30.0})
    with pytest.raises(selfnorm.Error, match="tanh.*fit_normalizer"):
        selfnorm.normalize_checkpoint(tmp_path / "capped", H)
    for name in ("logit_scale", "logits_scaling"):
        checkpoint(tmp_path / name, names=("model.embed_tokens.weight", None), config={name: 0})
        with pytest.raises(selfnorm.Error, match=f"{name} is 0"):
            selfnorm.normalize_checkpoint(tmp_path / name, H)
    checkpoint(tmp_path / "eight", kind="F8_E4M3", **LAYOUTS["single"])
    with pytest.raises(selfnorm.Error, match="float32, float16 or bfloat16|F8_E4M3"):
        selfnorm.normalize_checkpoint(tmp_path / "eight", H)
    checkpoint(tmp_path / "none", names=("something.weight", None), config={})
    with pytest.raises(selfnorm.Error, match="no tensor"):
        selfnorm.normalize_checkpoint(tmp_path / "none", H)
    checkpoint(tmp_path / "good", **LAYOUTS["sharded"])
    with pytest.raises(selfnorm.Error, match="states of 4"):
        selfnorm.normalize_checkpoint(tmp_path / "good", H[:, :4])
    selfnorm.normalize_checkpoint(tmp_path / "good", H)
    with pytest.raises(selfnorm.Error, match="exists"):
        selfnorm.normalize_checkpoint(tmp_path / "good", H)
    assert sorted(os.listdir(tmp_path)) == ["capped", "eight", "good", "good-normalized", "logit_scale", "logits_scaling", "none"]


def test_the_command_line_does_the_same_from_shards_of_states(program, tmp_path):
    _, _, H = checkpoint(tmp_path / "model", **LAYOUTS["tied, sharded"])
    os.makedirs(tmp_path / "states")
    np.save(tmp_path / "states" / "a.npy", H[:1500])
    write_safetensors(tmp_path / "states" / "b.safetensors", {"hidden_states": ("F32", H[1500:])})
    printed = json.loads(program("normalize", tmp_path / "model", "--states", tmp_path / "states", "--json", "--link").stdout)
    assert printed["was_tied"] and printed["after"]["rms"] < 0.1 < printed["before"]["rms"]
    mine = selfnorm.normalize_checkpoint(tmp_path / "model", tmp_path / "states", out=tmp_path / "mine")
    assert mine.after.rms == printed["after"]["rms"]
    for file in (tmp_path / "mine").iterdir():
        assert file.read_bytes() == (tmp_path / "model-normalized" / file.name).read_bytes()
    refused = program("normalize", tmp_path / "model", "--states", tmp_path / "states", "--amortise", "mlp", check=False)
    assert refused.returncode == 1 and "without loss" in refused.stderr
    for words in (["--keep", "all"], ["--clusters", "4"]):
        assert program("normalize", tmp_path / "model", "--states", tmp_path / "states", *words, check=False).returncode == 1
    strict = json.loads(program("normalize", tmp_path / "model", "--states", tmp_path / "states", "--json", "--rho", "0.1", "--conf", "0.9",
                                "--out", tmp_path / "strict").stdout)
    assert strict["after"]["smallest_eps"] < printed["after"]["smallest_eps"]
    assert program("normalize", tmp_path / "model", check=False).returncode == 1
