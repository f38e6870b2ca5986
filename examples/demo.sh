#!/usr/bin/env bash
# Fashion-MNIST: trained so that raw scores are log-probabilities (penalty), by plain maximum likelihood (exact), and that model
# normalised afterwards without changing what it predicts.
set -euo pipefail
program="$(realpath "${1:-build/release/selfnorm}")"
cd "$(dirname "$0")/.."
data=/usr/share/datasets/fashion-mnist
out=out/demo
for objective in penalty exact; do
  echo "== selfnorm train classifier $data/train-images-idx3-ubyte.gz --objective $objective --out $out/$objective"
  summary="$("$program" train classifier "$data/train-images-idx3-ubyte.gz" --objective "$objective" \
    --out "$out/$objective" --overwrite)"
  echo "${summary%%$'\n'*}"
done
echo
echo "== selfnorm normalize $out/exact -o $out/normalized.safetensors"
"$program" normalize "$out/exact" -o "$out/normalized.safetensors" --quiet
echo
models=("$out/penalty" "$out/exact" "$out/normalized.safetensors")
echo "== selfnorm evaluate ${models[*]} $data/t10k-images-idx3-ubyte.gz --timing"
"$program" evaluate "${models[@]}" "$data/t10k-images-idx3-ubyte.gz" --timing
cat <<TEXT

NLL raw is what a user of raw scores sees (one dot product per candidate, 'raw ns'); NLL exact enumerates every class
('exact ns', growing with the number of classes). Maximum likelihood leaves log Z anywhere, so its raw scores mean nothing
as log-probabilities; the penalty holds log Z near 0, the closer the larger --alpha. 'normalize' takes out of an existing model
what costs nothing: every probability, so NLL exact and accuracy, is as before.
models   $out/penalty/model.safetensors  $out/exact/model.safetensors
metrics  $out/penalty/metrics.jsonl      $out/exact/metrics.jsonl
TEXT
