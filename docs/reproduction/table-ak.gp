# Normalising a sample of the examples [AK]; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1740,620 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'table-ak.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
0.0001 27.534989
0.001 1.3575709
0.01 0.55230243
0.1 0.50087117
1 0.50118965
EOD
$p0s1 << EOD
0.0001 21.6
0.001 1.7
0.01 1.5
0.1 1.5
1 1.5
EOD
$p1s0 << EOD
0.0001 7.9702281
0.001 3.3094635
0.01 2.9958643
0.1 2.9433185
1 2.9325393
EOD
$p1s1 << EOD
0.0001 6.2146081
1 6.2146081
EOD
$p2s0 << EOD
0.01 19.635501
0.1 4.9277877
1 0.50087117
10 0.07096734
EOD
$p2s1 << EOD
0.01 20.1
0.1 9.7
1 1.5
10 0.5
EOD
set multiplot title 'Normalising a sample of the examples [AK]' font ',19'
set title 'Normalisation' font ',15'
set xlabel 'gamma, fraction normalised (leftmost: 0)'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'mean |log Z| (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.07471
set rmargin at screen 0.31897
set tmargin at screen 0.86290
set bmargin at screen 0.21774
set key at screen 0.06322,0.09677 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'mean |log Z|, sweep of gamma', \
     $p0s1 using 1:2 with linespoints lw 1.8 dt 3 pt 6 ps 0.9 lc rgb '#0072B2' title 'mean |log Z| printed in [AK], sweep of gamma'
set title 'Quality' font ',15'
set xlabel 'gamma, fraction normalised (leftmost: 0)'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'held-out NLL (nats per word)'
unset logscale y
set yrange [0:*]
set format y '%g'
set lmargin at screen 0.40805
set rmargin at screen 0.65230
set tmargin at screen 0.86290
set bmargin at screen 0.21774
set key at screen 0.39655,0.09677 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p1s0 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'held-out NLL, sweep of gamma', \
     $p1s1 using 1:2 with lines lw 2 dt 2 lc rgb '#000000' title 'uniform model'
set title 'Strength of the penalty' font ',15'
set xlabel 'alpha (1/nats)'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'mean |log Z| (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.74138
set rmargin at screen 0.98563
set tmargin at screen 0.86290
set bmargin at screen 0.21774
set key at screen 0.72989,0.09677 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p2s0 using 1:2 with linespoints lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'mean |log Z|, sweep of alpha at gamma = 0.1', \
     $p2s1 using 1:2 with linespoints lw 1.8 dt 3 pt 4 ps 0.9 lc rgb '#D55E00' title 'mean |log Z| printed in [AK], sweep of alpha'
unset multiplot
