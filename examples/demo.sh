#!/usr/bin/env bash
# Fashion-MNIST twice: trained so that raw scores are log-probabilities (penalty), and by plain maximum likelihood (exact).
set -euo pipefail
program="$(realpath "${1:-build/release/selfnorm}")"
cd "$(dirname "$0")/.."
data=/usr/share/datasets/fashion-mnist
out=out/demo
for objective in penalty exact; do
  echo "== selfnorm train classifier $data/train-images-idx3-ubyte.gz --objective $objective --iterations 150 --out $out/$objective"
  summary="$("$program" train classifier "$data/train-images-idx3-ubyte.gz" --objective "$objective" --iterations 150 \
    --out "$out/$objective" --overwrite)"
  echo "${summary%%$'\n'*}"
done
echo
echo "== selfnorm evaluate $out/penalty $out/exact $data/t10k-images-idx3-ubyte.gz --timing"
"$program" evaluate "$out/penalty" "$out/exact" "$data/t10k-images-idx3-ubyte.gz" --timing
cat <<TEXT

NLL raw is what a user of one dot product per candidate sees; NLL exact enumerates every class. The penalty makes them
agree, so the raw score of one candidate is its log-probability, at the cost in 'raw ns' instead of 'exact ns'.
models   $out/penalty/model.safetensors  $out/exact/model.safetensors
metrics  $out/penalty/metrics.jsonl      $out/exact/metrics.jsonl
TEXT
