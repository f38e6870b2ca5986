#!/usr/bin/env bash
# Builds the page of the reports: page.sh REPORT OUT. The npm packages of REPORT/package-lock.json are installed when
# those in REPORT/node_modules are of another one; several builds may do so at once.
set -euo pipefail
report="$1"; out="$2"
fail() { printf 'error: %s\n' "$@" >&2; exit 1; }

for program in node npm flock; do
  command -v "$program" > /dev/null || fail "$program is missing: the page of the reports (report/) is built with Node.js 18 or later and npm" \
    "Debian: apt-get install nodejs npm util-linux"
done
version="$(node --version)"; major="${version#v}"; major="${major%%.*}"
(( major >= 18 )) || fail "the page of the reports (report/) is built with Node.js 18 or later; this is $version" \
  "Debian 12 or later: apt-get install nodejs npm"

cd "$report"
exec 9< package-lock.json
flock 9
stamp=node_modules/.installed
wanted="$(sha256sum package.json package-lock.json)"
if [[ ! -e "$stamp" || "$(< "$stamp")" != "$wanted" ]]; then
  npm ci --ignore-scripts --no-audit --no-fund || fail "npm could not install the packages of report/package-lock.json from $(npm config get registry)" \
    "without a network: copy report/node_modules from a machine that has built this version" \
    "behind a proxy or with a mirror: npm config set proxy URL, npm config set registry URL"
  printf '%s\n' "$wanted" > "$stamp"
fi
flock -u 9
node build.mjs "$out"
