#!/bin/bash
# Every benchmark, each with its peer or floor in the same run: measured, ratio, target, MET or MISSED, and the
# command that reproduces it. SELFNORM_BENCH: where the programs are; SELFNORM_DATA: where clinc150, wordnet-hypernym and
# ud-english-ewt are.
set -u
cd "$(dirname "$0")/.."
programs=${SELFNORM_BENCH:-build/bench/bench}
data=${SELFNORM_DATA:-../shared/data}
mnist=/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz
failed=0

section() { printf '\n== %s\n' "$1"; }
run() { "$@" || { echo "FAILED: $*"; failed=1; }; }

echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
section "Exact loss and gradient against OpenBLAS"
run "$programs/bench_loss_gradient"
section "Log-normalizers of a large softmax head against OpenBLAS"
run "$programs/bench_log_normalizers"
section "Training against scikit-learn's LogisticRegression(lbfgs), to the same loss"
run bench/sklearn_lbfgs.py fashion-mnist "$mnist" --program "$programs/bench_train_loss"
# C = 10, because at C = 1 scikit-learn converges (46 iterations) and its loss is the minimum itself, which single
# precision meets only just; float32, because it is the faster for scikit-learn here.
run bench/sklearn_lbfgs.py clinc150 "$data/clinc150/train.svm" --program "$programs/bench_train_loss" --C 10 --float32
section "Scoring one candidate, and a cold start"
run "$programs/bench_score"
echo "  reproduce: $programs/bench_score"
section "Scoring words with a language model, and 1,000,000 classes as int8"
run "$programs/bench_lm_score"
echo "  reproduce: $programs/bench_lm_score"
section "Training against noise classes at 10,000 and 1,000,000 classes"
run "$programs/bench_large_output"
echo "  reproduce: $programs/bench_large_output"
section "Log-probabilities to a stated precision: error against cost (wordnet 0.1 at 1/4 of the exact time, wikitext-2 at 1/10, 1,000,000 classes at 1/50)"
run bench/ladder.sh "$(dirname "$programs")/selfnorm" "$data" "$(dirname "$programs")/ladder"
run "$programs/bench_ladder"
echo "  reproduce: bench/ladder.sh $(dirname "$programs")/selfnorm $data; $programs/bench_ladder"
section "Bags of embeddings against fastText"
run bench/fasttext.py "$data" --program "$(dirname "$programs")/selfnorm"
echo "  reproduce: bench/fasttext.py $data --program $(dirname "$programs")/selfnorm"
section "Linear chains against CRFsuite"
run bench/crf.py "$data" --programs "$programs" --work "$(dirname "$programs")/crf"
echo "  reproduce: bench/crf.py $data --programs $programs --work $(dirname "$programs")/crf"
section "The training step of a network density by snl against PyTorch"
run bench/density_step.py --program "$programs/bench_density_step"
echo "  reproduce: bench/density_step.py --program $programs/bench_density_step"
section "The training step of a regressor by snl against PyTorch"
run bench/regressor_step.py --program "$programs/bench_regressor_step"
echo "  reproduce: bench/regressor_step.py --program $programs/bench_regressor_step"
section "Densities by default against a neural spline flow in PyTorch (2,000 rows of two tables; the whole comparison is a command of its own)"
run bench/spline_flow.py "$(dirname "$programs")/selfnorm" "$data" --tables kin8nm,power-plant --rows 2000 --seconds 120
echo "  reproduce: bench/spline_flow.py $(dirname "$programs")/selfnorm $data"
section "Predictions of a regressor against the scores they need"
run "$programs/bench_regressor_predict"
section "The Python package against fastText, CRFsuite, scikit-learn and, where it is installed, NGBoost"
run env PYTHONPATH="$(dirname "$programs")/python" /usr/bin/python3 bench/python_package.py "$data" --programs "$programs"
echo "  reproduce: PYTHONPATH=$(dirname "$programs")/python bench/python_package.py $data --programs $programs"
section "Two processes of one thread against one process of two threads"
run bench/processes.py "$data" --program "$(dirname "$programs")/selfnorm"
echo "  reproduce: bench/processes.py $data --program $(dirname "$programs")/selfnorm"
section "Parsing svmlight (target >= 200 MB/s per core)"
run "$programs/bench_parse_svmlight"
echo "  reproduce: $programs/bench_parse_svmlight"
exit $failed
