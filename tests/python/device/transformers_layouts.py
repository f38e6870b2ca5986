"""Tiny random checkpoints as transformers writes them, normalised: the reloaded model has the same probabilities, and its logits, less
log_normalizer, are log-probabilities. Run where transformers is:  python3 transformers_layouts.py"""
import os
import tempfile

import torch
import transformers

import selfnorm

torch.manual_seed(0)
SMALL = dict(vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=128)
HALF = {"head_dim": 8}
MODELS = [
    ("Llama", "LlamaForCausalLM", transformers.LlamaConfig(**SMALL, tie_word_embeddings=False), {}),
    ("Llama, tied, shards", "LlamaForCausalLM", transformers.LlamaConfig(**SMALL, tie_word_embeddings=True), {"max_shard_size": "40KB"}),
    ("Qwen2, shards", "Qwen2ForCausalLM", transformers.Qwen2Config(**SMALL, tie_word_embeddings=False), {"max_shard_size": "40KB"}),
    ("Qwen3, tied, bf16", "Qwen3ForCausalLM", transformers.Qwen3Config(**SMALL, **HALF, tie_word_embeddings=True), {"dtype": torch.bfloat16}),
    ("Gemma, tied", "GemmaForCausalLM", transformers.GemmaConfig(**SMALL, **HALF), {}),
    ("Gemma 2, capped", "Gemma2ForCausalLM", transformers.Gemma2Config(**SMALL, **HALF), {}),
    ("Cohere, scaled", "CohereForCausalLM", transformers.CohereConfig(**SMALL, logit_scale=0.25), {}),
    ("Granite, divided", "GraniteForCausalLM", transformers.GraniteConfig(**SMALL, logits_scaling=4.0), {}),
    ("GPT-2, tied", "GPT2LMHeadModel", transformers.GPT2Config(vocab_size=300, n_embd=32, n_layer=2, n_head=4, n_positions=128), {}),
    ("T5, tied", "T5ForConditionalGeneration", transformers.T5Config(vocab_size=300, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                                                                      decoder_start_token_id=0), {"factor": 0.16}),
]


def outputs(model, tokens):
    """(what goes into the head, the logits)"""
    kept = []
    hook = model.get_output_embeddings().register_forward_pre_hook(lambda module, inputs: kept.append(inputs[0].detach().float()))
    with torch.no_grad():
        words = dict(input_ids=tokens, decoder_input_ids=tokens) if model.config.is_encoder_decoder else dict(input_ids=tokens)
        logits = model(**words).logits.float()
    hook.remove()
    return torch.cat(kept).reshape(-1, kept[0].shape[-1]), logits


tokens = torch.randint(300, (64, 64))
print(f"{'model':<22} {'tied':<6} {'log Z before':>16} {'log Z after - c':>18} {'max |p - p|':>12}  notes")
for name, kind, config, options in MODELS:
    dtype = options.get("dtype", torch.float32)
    model = getattr(transformers, kind)(config).to(dtype).eval()
    with torch.no_grad():  # random heads are too small to show anything
        model.get_output_embeddings().weight.mul_(options.get("factor", 8))  # T5's are 50 times those of the others
        model.get_output_embeddings().weight.add_(torch.randn(config.hidden_size, dtype=dtype) * 0.5)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        model.save_pretrained(path, **{k: v for k, v in options.items() if k not in ("dtype", "factor")})
        model = getattr(transformers, kind).from_pretrained(path, dtype=dtype).eval()
        states, logits = outputs(model, tokens)
        try:
            found = selfnorm.normalize_checkpoint(path, states)
        except selfnorm.Error as error:
            print(f"{name:<22} refused: {str(error).split(': ', 1)[1][:120]}")
            continue
        again = getattr(transformers, kind).from_pretrained(found.out, dtype=dtype).eval()
        _, after = outputs(again, tokens)
        log_z, left = torch.logsumexp(logits, -1), torch.logsumexp(after, -1) - found.log_normalizer
        difference = (torch.softmax(logits, -1) - torch.softmax(after, -1)).abs().max().item()
        print(f"{name:<22} {str(found.was_tied):<6} {log_z.mean().item():8.3f} +-{log_z.std().item():6.3f} "
              f"{left.mean().item():9.4f} +-{left.std().item():7.4f} {difference:12.1e}  {'; '.join(found.notes)}")
        assert difference < (0.05 if dtype == torch.bfloat16 else 1e-4), difference
        assert left.std() < 0.5 * log_z.std() and abs(left.mean()) < 0.05, name
print("transformers", transformers.__version__, "torch", torch.__version__)
