"""The script of docs/guide/llm.md that collects states, as it stands there, on a tiny model and its tokenizer; then the checkpoint is
normalised on what it wrote. Run where transformers is:  python3 states_script.py"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import tokenizers
import torch
import transformers

import selfnorm

torch.manual_seed(0)
guide = (pathlib.Path(__file__).resolve().parents[3] / "docs/guide/llm.md").read_text()
script, = re.findall(r"### States.*?```python\n(.*?)```", guide, re.DOTALL)
words = [f"w{i}" for i in range(400)]
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: i for i, word in enumerate([*words, "<unk>"])}, unk_token="<unk>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>").save_pretrained(folder / "model")
    config = transformers.LlamaConfig(vocab_size=401, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True)
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():  # random heads are too small to show anything
        model.lm_head.weight.mul_(20)
    model.save_pretrained(folder / "model")
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(words, size=size)) for size in random.integers(2, 40, size=200)]
    (folder / "texts").write_text("\n".join([*texts, "", "w1"]))  # the last two are too short
    (folder / "collect.py").write_text(script)
    subprocess.run([sys.executable, "-W", "ignore", folder / "collect.py", folder / "model", folder / "texts", folder / "states"], check=True)
    files = sorted((folder / "states").iterdir())
    found = selfnorm.normalize_checkpoint(folder / "model", folder / "states")
    print(f"the script of {len(script.splitlines())} lines wrote {len(files)} files of {len(texts)} texts; {found.states + found.held_out} states of "
          f"{np.load(files[0]).shape[1]} numbers, {found.held_out} of them held out")
    print(f"log Z: rms {found.before.rms:.3f} before, {found.after.rms:.3f} after; probabilities differ by at most {found.probability_difference:.1e}")
    assert len(files) == len(texts) and found.states + found.held_out == sum(len(np.load(file)) for file in files) and found.after.rms < found.before.rms
