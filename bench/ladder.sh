#!/bin/bash
# Error against cost of every rung of the ladder, on models that `train` makes with its defaults, certified on test rows that
# had no part in them. Usage: ladder.sh PROGRAM DATA [WORK]
set -eu
program=$1; data=$2; work=${3:-$(mktemp -d)}
mkdir -p "$work"
table() { sed -n '/^ladder /,$p' | sed '/^written/,$d'; }
train() { [ -e "$work/$1/model.safetensors" ] || "$program" "${@:2}" --out "$work/$1" --overwrite --no-ladder --no-report --quiet > "$work/$1.log"; }
ladder() {  # within exit code 3: none but exact
  "$program" normalize "$work/$1" --states "$2" --within 0.1 --keep all --out "$work/$1-ladder.safetensors" --quiet | table | tee "$work/$1.table" || true
}
target() {  # NAME EPS TIMES: the fastest rung that is certified for EPS
  awk -v eps="$2" -v least="$3" '$4 + 0 > times && $7 ~ /^[0-9.]+$/ && $7 <= eps { times = $4 + 0 }
    END { printf "  certified %s at 1/%.1f of the exact time, target 1/%s: %s\n", eps, times, least, (times >= least ? "MET" : "MISSED") }' "$work/$1.table"
}
echo "clinc150: 150 classes"
train clinc150 train classifier "$data/clinc150/train.svm"
ladder clinc150 "$data/clinc150/test.svm"
echo "wordnet-hypernym: 4,796 classes"
train wordnet train classifier "$data/wordnet-hypernym/hypernym_train.svm"
ladder wordnet "$data/wordnet-hypernym/hypernym_test.svm"
target wordnet 0.1 4
echo "wikitext-2: 33,000 words"
train wikitext train lm "$data/wikitext-2/train.txt"
ladder wikitext "$data/wikitext-2/test.txt"
target wikitext 0.1 10
target wikitext 0.3 40
echo "English EWT: 294 labels of tag, relation and direction of the head"
ewt() {  # PART: words and labels, those that 20 words of the training part have, else the tag
  awk -F '\t' -v OFS='\t' -v least=20 '
    /^[0-9]+\t/ { split($8, relation, ":"); label = $5 "|" relation[1] ($7 == 0 ? 0 : $7 + 0 < $1 + 0 ? "L" : "R"); gsub(" ", "_", $2) }
    NR == FNR { if ($1 ~ /^[0-9]+$/) ++words[label]; next }
    /^[0-9]+\t/ { print $2, (words[label] >= least ? label : $4) }
    /^$/ { print "" }' "$data/ud-english-ewt/en_ewt-ud-train.conllu" "$data/ud-english-ewt/en_ewt-ud-$1.conllu" > "$work/ewt-$1.txt"
}
for part in train dev test; do ewt $part; done
[ -e "$work/ewt/model.safetensors" ] || "$program" train crf "$work/ewt-train.txt" --valid "$work/ewt-dev.txt" --optimiser adagrad --epochs 6 \
  --out "$work/ewt" --overwrite --no-report --quiet > "$work/ewt.log"
grep certified "$work/ewt.log"
"$program" evaluate "$work/ewt" "$work/ewt-test.txt" --timing --quiet | sed -n '/^log-probability/,$p'
