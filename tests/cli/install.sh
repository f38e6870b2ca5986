#!/usr/bin/env bash
# Installs BUILD into a prefix of its own and builds and runs examples/ against it, as a user's project would.
# Usage: install.sh SOURCE BUILD [SANITIZERS]
set -euo pipefail
source_dir="$(realpath "$1")"; build_dir="$(realpath "$2")"; sanitizers="${3:-}"
work="$(mktemp -d)"; trap 'rm -rf "$work"' EXIT
prefix="$work/prefix"
cmake --install "$build_dir" --prefix "$prefix" > "$work/install.log" || { cat "$work/install.log"; exit 1; }
flags="${sanitizers:+-fsanitize=$sanitizers}"

for file in bin/selfnorm include/selfnorm.h include/selfnorm/selfnorm.hpp share/man/man1/selfnorm.1 \
  share/bash-completion/completions/selfnorm share/zsh/site-functions/_selfnorm share/fish/vendor_completions.d/selfnorm.fish; do
  [[ -s "$prefix/$file" ]] || { echo "not installed: $file"; exit 1; }
done
"$prefix/bin/selfnorm" --version

# TorchScript energies: the installed program finds the installed module, which finds that this is no TorchScript.
if [[ -e "$build_dir/libselfnorm_torch.so" ]]; then
  printf 'x,y\n1,2\n3,5\n2,2\n0,1\n' > "$work/points.csv"; echo none > "$work/energy.pt"
  "$prefix/bin/selfnorm" train density "$work/points.csv" --energy "$work/energy.pt" --allow-code --out "$work/run" > "$work/torch.log" 2>&1 || true
  grep -q "not a TorchScript module" "$work/torch.log" || { cat "$work/torch.log"; exit 1; }
fi

cmake -S "$source_dir/examples/cpp" -B "$work/cpp" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS="$flags" > "$work/cpp.log" && cmake --build "$work/cpp" >> "$work/cpp.log" || { cat "$work/cpp.log"; exit 1; }
(cd "$work" && cpp/colours)
[[ ! -e "$prefix/include/selfnorm/base" ]] || { echo "private headers are installed"; exit 1; }

# The C runtime needs a C compiler, one header and one library.
library="$(dirname "$(find "$prefix" -name libselfnorm_runtime.so)")"
cc -std=c11 $flags "$source_dir/examples/c/score.c" -I"$prefix/include" -L"$library" -lselfnorm_runtime -Wl,-rpath,"$library" -o "$work/score"
"$work/score" "$work/colours.safetensors" 0.85 0.2 0.2
if command -v pkg-config > /dev/null; then
  flags_of_pc="$(PKG_CONFIG_PATH="$library/pkgconfig" pkg-config --cflags --libs selfnorm)"
  cc -std=c11 $flags "$source_dir/examples/c/score.c" $flags_of_pc -Wl,-rpath,"$library" -o "$work/score_pc"
  "$work/score_pc" "$work/colours.safetensors" 0.85 0.2 0.2 > /dev/null
fi
