#!/usr/bin/env bash
# The suite under the Python of this machine: run.sh DEPS.tar.xz builds the extension for it (build.py) and runs everything.
set -u
root="$(cd "$(dirname "$0")/../../.." && pwd)"; work="$(mktemp -d)"
tar xJf "$1" -C "$work"
start=$SECONDS
python3 "$root/tests/python/device/build.py" "$work/deps" "$work/package" || exit 1
echo "built in $((SECONDS - start)) s"
export PYTHONPATH="$work/package" PYTHONDONTWRITEBYTECODE=1
python3 -c "import sys, numpy, sklearn, torch, selfnorm; print('Python', sys.version.split()[0], 'numpy', numpy.__version__, 'scikit-learn', sklearn.__version__, 'torch', torch.__version__)"
python3 "$root/tests/python/device/transformers_layouts.py" 2>&1 | grep -v -i "warning\|it/s\|FutureWarn"
cd "$root" && timeout 240 python3 -m pytest -q -rfs --maxfail=15 -p no:cacheprovider -W ignore tests/python/test_estimators.py tests/python/test_training.py tests/python/test_heads.py tests/python/test_examples.py 2>&1 | tail -60
