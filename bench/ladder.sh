#!/bin/bash
# Error against cost of every rung of the ladder, on models that `train` makes with its defaults, certified on test rows that
# had no part in them. Usage: ladder.sh PROGRAM DATA [WORK]
set -eu
program=$1; data=$2; work=${3:-$(mktemp -d)}
mkdir -p "$work"
table() { sed -n '/^ladder /,$p' | sed '/^written/,$d'; }
train() { [ -e "$work/$1/model.safetensors" ] || "$program" "${@:2}" --out "$work/$1" --overwrite --no-ladder --no-report --quiet > "$work/$1.log"; }
ladder() {  # within exit code 3: none but exact
  "$program" normalize "$work/$1" --states "$2" --within 0.1 --keep all --out "$work/$1-ladder.safetensors" --quiet | table || true
}
echo "clinc150: 150 classes"
train clinc150 train classifier "$data/clinc150/train.svm"
ladder clinc150 "$data/clinc150/test.svm"
echo "wordnet-hypernym: 4,796 classes"
train wordnet train classifier "$data/wordnet-hypernym/hypernym_train.svm"
ladder wordnet "$data/wordnet-hypernym/hypernym_test.svm"
echo "wikitext-2: 33,000 words"
train wikitext train lm "$data/wikitext-2/train.txt"
ladder wikitext "$data/wikitext-2/test.txt"
