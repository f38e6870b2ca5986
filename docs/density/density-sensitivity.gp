# Sensitivity of the gap; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1740,695 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'density-sensitivity.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
2 0.67695982 0.077922933
4 0.69797103 0.032974851
8 1.6330024 0


EOD
$p0s1 << EOD
2 0.67212529 0.077053078
4 0.67679224 0.030695709
8 1.0954727 0.051726938
16 1.1333406 0.018679524
32 1.3948104 0.038267388
EOD
$p0s2 << EOD
2 0.59609722 0.059744794
4 0.62786064 0.033941612
8 2.0019495 0.080556557
16 1.8686222 0
32 2.1476989 0
EOD
$p0s3 << EOD
2 0.02605953 0.0004487412
4 0.022481091 0.00037354531
8 0.042629358 0.0012754433
16 0.099117625 0.0027935124
32 0.56285722 0.0220136
EOD
$p0s4 << EOD
2 2.3673655 0.011373115
4 3.6752084 0.021306819
8 5.3488117 0.03071463
16 5.1404292 0.013629803
32 5.5029909 0.0038408649
EOD
$p1s0 << EOD

64 1.1843603 0.038495114
256 0.69797103 0.032974851
1024 0.51773247 0.019816611
4096 0.40550158 0.014759809
EOD
$p1s1 << EOD
16 1.297747 0.036887879
64 0.92747123 0.028612958
256 0.67679224 0.030695709
1024 0.51235347 0.01920133
4096 0.40415501 0.014544096
EOD
$p1s2 << EOD

64 1.1801852 0.16746419
256 0.62786064 0.033941612
1024 0.43617355 0.02243029
4096 0.33714078 0.014414305
EOD
$p2s0 << EOD

0.7 1.4453967 0.054741656
1 0.69797103 0.032974851
1.5 0.5570634 0.014847787
2 0.60966377 0.011872089
3 0.84947788 0.017018327
4 1.2442779 0.02886448
EOD
$p2s1 << EOD
0.5 1.775067 0.061135491
0.7 1.1188805 0.03450963
1 0.67679224 0.030695709
1.5 0.54388663 0.016315401
2 0.58962473 0.0068964436
3 0.83941012 0.018284063
4 1.1929105 0.024288312
EOD
$p2s2 << EOD

0.7 1.435991 0.12474348
1 0.62786064 0.033941612
1.5 0.53101483 0.019197787
2 0.6727444 0.0081511133
3 1.2138614 0.066718584
4 2.268112 0.039181655
EOD
set multiplot title 'Sensitivity of the gap' font ',19'
set title 'Dimension' font ',15'
set xlabel 'dimension'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'gap (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.07471
set rmargin at screen 0.31897
set tmargin at screen 0.87770
set bmargin at screen 0.30216
set key at screen 0.06322,0.19424 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2:3 with yerrorlines lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'snl', \
     $p0s1 using 1:2:3 with yerrorlines lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'nce', \
     $p0s2 using 1:2:3 with yerrorlines lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'is', \
     $p0s3 using 1:2:3 with yerrorlines lw 2.5 pt 13 ps 0.8 lc rgb '#CC79A7' title 'snl, mixture:32', \
     $p0s4 using 1:2:3 with yerrorlines lw 2.5 pt 11 ps 0.8 lc rgb '#E69F00' title 'pcd, the time of snl'
set title 'Samples' font ',15'
set xlabel 'samples per step, M'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'gap (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.40805
set rmargin at screen 0.65230
set tmargin at screen 0.87770
set bmargin at screen 0.30216
set key at screen 0.39655,0.19424 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p1s0 using 1:2:3 with yerrorlines lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'snl', \
     $p1s1 using 1:2:3 with yerrorlines lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'nce', \
     $p1s2 using 1:2:3 with yerrorlines lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'is'
set title 'Width of the proposal' font ',15'
set xlabel 'width of the Gaussian, in that of the data'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'gap (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.74138
set rmargin at screen 0.98563
set tmargin at screen 0.87770
set bmargin at screen 0.30216
set key at screen 0.72989,0.19424 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p2s0 using 1:2:3 with yerrorlines lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'snl', \
     $p2s1 using 1:2:3 with yerrorlines lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'nce', \
     $p2s2 using 1:2:3 with yerrorlines lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'is'
unset multiplot
