#!/usr/bin/env bash
# Compiles the module for GPUs with nvcc alone: build.sh FOLDER writes FOLDER/libselfnorm_cuda.so, for Ampere, Hopper and
# (as PTX, which the driver compiles) what comes after. ARCHITECTURES="90a" builds for one. Unchanged files are kept.
set -euo pipefail
out="$1"
here="$(cd "$(dirname "$0")/.." && pwd)"
nvcc="$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)"
[[ -x $nvcc ]] || { echo "nvcc was not found; expected it in PATH or /usr/local/cuda/bin (CUDA 13)" >&2; exit 1; }
code=()
for a in ${ARCHITECTURES:-80 90a}; do code+=(-gencode "arch=compute_$a,code=sm_$a"); done
[[ -n ${ARCHITECTURES:-} ]] || code+=(-gencode "arch=compute_90,code=compute_90")
mkdir -p "$out"
objects=() jobs=()
newest="$(ls -t "$here"/gpu/*.h "$here"/gpu/cuda/*.cuh "$here"/gpu/build.sh | head -1)"
for source in "$here"/gpu/cuda/*.cu; do
  object="$out/$(basename "$source" .cu).o"
  objects+=("$object")
  [[ $object -nt $source && $object -nt $newest ]] && continue
  "$nvcc" -std=c++20 -O3 -Xcompiler -fPIC,-Wall -I"$here" "${code[@]}" -c "$source" -o "$object" &
  jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job"; done
"$nvcc" -shared "${objects[@]}" -o "$out/libselfnorm_cuda.so" -L"$(dirname "$nvcc")/../lib64" -lcublasLt \
  -Xlinker -rpath="$(dirname "$(dirname "$nvcc")")/lib64"
