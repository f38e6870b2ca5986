#!/usr/bin/env bash
# A self-normalised language model on a real text, the dictionary gcide: trained without ever summing over the words,
# then raw scores against exact probabilities, and the speed of both.
set -euo pipefail
program="$(realpath "${1:-build/release/selfnorm}")"
cd "$(dirname "$0")/.."
out=out/demo
mkdir -p "$out"
echo "== examples/gcide.sh (3.4 million words of English, tokenised)"
examples/gcide.sh > "$out/gcide.txt"
awk -v out="$out" '{ print > (out (NR % 50 == 0 ? "/test.txt" : "/train.txt")) }' "$out/gcide.txt"
wc -lw "$out/train.txt" "$out/test.txt"
echo
echo "== selfnorm train lm $out/train.txt --order 5 --min-count 3 --epochs 2 --out $out/lm"
"$program" train lm "$out/train.txt" --order 5 --min-count 3 --epochs 2 --out "$out/lm" --overwrite
echo
echo "== selfnorm evaluate $out/lm $out/test.txt --timing"
"$program" evaluate "$out/lm" "$out/test.txt" --timing
echo
sentence="the act of increasing the velocity of a body"
for kind in --raw "" --exact; do
  echo "== echo '$sentence' | selfnorm score $out/lm - $kind"
  echo "$sentence" | "$program" score "$out/lm" - $kind
done
cat <<TEXT

A raw log-probability is one score: a few vector additions and one dot product, whatever the number of words. The exact one
sums over the whole vocabulary. 'perplexity' is given both ways; where they agree the model is self-normalised, and log Z
says by how much single words may be off. What score gives when nobody asks for either is the cheapest sum that is certified.
model    $out/lm/model.safetensors
metrics  $out/lm/metrics.jsonl
report   $out/lm/report.html (open it in a browser)
TEXT
