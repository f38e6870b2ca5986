#!/usr/bin/env bash
# Draws docs/idea.svg: raw against exact log-probability of about 600 (image, class) pairs of the test set of Fashion-MNIST
# (Debian package dataset-fashion-mnist), for a model trained by maximum likelihood and a self-normalised one.
# Usage: idea.sh [PROGRAM] [FOLDER of the data]
set -euo pipefail
program="$(realpath "${1:-build/release/selfnorm}")"
data="$(realpath "${2:-/usr/share/datasets/fashion-mnist}")"
cd "$(dirname "$0")/.."
classes=0,1,2,3,4,5,6,7,8,9
test=$data/t10k-images-idx3-ubyte.gz
for objective in exact penalty; do
  "$program" train classifier "$data/train-images-idx3-ubyte.gz" --objective "$objective" --out "out/idea/$objective" --overwrite --quiet > /dev/null
done

# points MODEL X0: SVG circles of the panel whose left edge is X0; x is -25 .. 0 and y -25 .. 15.
points() {
  paste <("$program" score "out/idea/$1" "$test" --candidates "$classes" --raw --quiet) \
    <("$program" score "out/idea/$1" "$test" --candidates "$classes" --exact) |
    awk -v x0="$2" '!/^#/ && n++ % 157 == 0 && $7 >= -25 && $3 >= -25 && $3 <= 15 {
      printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n", x0 + ($7 + 25) * 11.2, 340 - ($3 + 25) * 7 }'
}

# panel MODEL X0 TITLE SUBTITLE COLOUR
panel() {
  local x=$2
  echo "<text x=\"$((x + 140))\" y=\"24\" class=\"t\">$3</text><text x=\"$((x + 140))\" y=\"44\" class=\"s\">$4</text>"
  echo "<rect x=\"$x\" y=\"60\" width=\"280\" height=\"280\" fill=\"none\" stroke=\"#999\"/>"
  echo "<path d=\"M$x 165 h280\" stroke=\"#ddd\"/><path d=\"M$x 340 l280 -175\" stroke=\"#999\" stroke-dasharray=\"4 4\"/>"
  echo "<text x=\"$((x + 280))\" y=\"356\" class=\"s\">0</text><text x=\"$x\" y=\"356\" class=\"s\">-25</text>"
  echo "<text x=\"$((x + 140))\" y=\"372\" class=\"s\">exact log-probability</text>"
  echo "<text x=\"$((x - 6))\" y=\"169\" class=\"e\">0</text><text x=\"$((x - 6))\" y=\"340\" class=\"e\">-25</text>"
  echo "<text x=\"$((x - 6))\" y=\"70\" class=\"e\">15</text>"
  echo "<text transform=\"translate($((x - 24)) 250) rotate(-90)\" class=\"s\">raw score</text>"
  echo "<g fill=\"$5\" fill-opacity=\"0.6\">"
  points "$1" "$x"
  echo "</g>"
}

{
  echo '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 385" font-family="sans-serif" role="img"'
  echo ' aria-label="Raw score against exact log-probability: scattered for maximum likelihood, on the diagonal when self-normalised">'
  echo '<style>.t{font-size:15px;font-weight:bold;text-anchor:middle}.s{font-size:12px;text-anchor:middle;fill:#444}.e{font-size:12px;text-anchor:end;fill:#444}</style>'
  echo '<rect width="700" height="385" fill="#fff"/>'
  panel exact 50 "maximum likelihood" "a probability needs all K scores" "#c44e52"
  panel penalty 400 "self-normalised" "one score is one log-probability" "#2a7f9e"
  echo '</svg>'
} > docs/idea.svg
