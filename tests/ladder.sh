#!/usr/bin/env bash
# Includes go down the ladder only (docs/architecture.md). Usage: ladder.sh [ROOT]; prints each offender as file:line.
# `--self-test` plants violations in a copy and checks that each is caught.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
ladder=(base math data proposal model sampler normalizer objective analysis optim engine train report experiments cli)

check() {
  local root="$1"
  cd "$root"
  local folders=(); local folder
  for folder in include src experiments cli runtime; do [[ -d $folder ]] && folders+=("$folder"); done
  find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.inc' -o -name '*.c' \) | sort |
    xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' /dev/null |
    awk -v order="${ladder[*]}" '
      BEGIN { n = split(order, names, " "); for (i = 1; i <= n; i++) rank[names[i]] = i; bad = 0 }
      {
        split($0, place, ":"); file = place[1]; line = place[2]
        target = $0; sub(/^[^<"]*[<"]/, "", target); sub(/[>"].*$/, "", target)
        m = split(file, part, "/")
        if (part[1] == "include") own = part[3]; else if (part[1] == "src") own = part[2]; else own = part[1]
        if (target == "selfnorm.h") target = "selfnorm/runtime/selfnorm.h"
        if (target ~ /^experiments\//) target = "selfnorm/" target
        if (target !~ /^selfnorm\//) {
          if (target ~ /\.\.\//) { print file ":" line ": relative include \"" target "\" hides a rung"; bad = 1 }
          next
        }
        split(target, piece, "/"); used = piece[2]
        if (own == "runtime") {
          if (used != "runtime") { print file ":" line ": runtime may include nothing of the ladder, found " target; bad = 1 }
        } else if (used == "runtime") {
          if (rank[own] < rank["math"]) {
            print file ":" line ": only the rungs from math up may include the runtime, found " target; bad = 1
          }
        } else if (!(used in rank)) {
          print file ":" line ": " target " belongs to no rung"; bad = 1
        } else if (!(own in rank)) {
          print file ":" line ": folder " own " is no rung"; bad = 1
        } else if (rank[used] > rank[own]) {
          print file ":" line ": " own " may not include " used " (" target "), which is above it"; bad = 1
        }
      }
      END { exit bad }'
}

self_test() {
  local copy; copy="$(mktemp -d)"
  trap "rm -rf '$copy'" EXIT
  mkdir -p "$copy"/{include/selfnorm/math,src/base,cli,runtime/src}
  local -A plant=(
    [include/selfnorm/math/planted.h]='#include "selfnorm/train/trainer.h"'
    [src/base/planted.cc]='#include <selfnorm/math/random.h>'
    [runtime/src/planted.cc]='#include "selfnorm/base/error.h"'
    [src/math/planted.cc]='#include "../train/secret.h"'
    [src/base/runtime_planted.cc]='#include "selfnorm/runtime/safetensors.h"'
    [src/report/planted.cc]='#include "experiments/record.h"'
    [experiments/density/planted.cc]='#include "selfnorm/cli/output.h"'
    [src/model/planted.cc]='#include "selfnorm/utils/strings.h"')
  local file status=0 report
  for file in "${!plant[@]}"; do
    mkdir -p "$copy/$(dirname "$file")"
    printf '// planted\n%s\n' "${plant[$file]}" > "$copy/$file"
    report="$( (check "$copy") || true)"
    if [[ "$report" != "$file:2: "* ]]; then
      echo "not caught: $file: ${plant[$file]} (reported: '$report')"; status=1
    fi
    rm "$copy/$file"
  done
  printf '#include "selfnorm/train/trainer.h"\n#include "experiments/record.h"\n#include <vector>\n' > "$copy/cli/allowed.cc"
  (check "$copy") || { echo "an allowed include was refused"; status=1; }
  return $status
}

if [[ "${1:-}" == --self-test ]]; then
  self_test && echo "ladder self-test: every planted violation is caught"
else
  check "${1:-$here/..}" && echo "ladder: includes go downwards only"
fi
