# A against the length; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1280,720 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'sequences-ewt-length.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
1 5.788733
2 17.052174
4 38.820866
8 77.952639
16 152.464
32 275.20519
64 497.0083
EOD
$p0s1 << EOD
1 13.693182
2 15.065851
4 13.553299
8 9.5719186
16 13.737175
32 33.913787
64 81.223832
EOD
$p0s2 << EOD
1 1.7069186
2 2.1275198
4 3.2144923
8 4.1497215
16 5.9544951
32 8.7747918
64 13.672173
EOD
$p0s3 << EOD
1 0.93490721
2 1.1313171
4 2.013336
8 2.5994717
16 3.8648319
32 5.9166278
64 10.303345
EOD
$p0s4 << EOD
1 0.19462474
2 0.25646828
4 0.41679579
8 0.58630129
16 0.79404121
32 1.3150518
64 1.9297775
EOD
$p0s5 << EOD
1 1.1532201
2 1.3696324
4 2.3088709
8 3.00343
16 4.3991958
32 7.7972725
64 13.695701
EOD
$p1s0 << EOD
1 5.788733
2 6.6899942
4 6.7930555
8 6.8999744
16 6.8687098
32 6.736702
64 6.7452632
EOD
$p1s1 << EOD
1 13.693182
2 6.4489417
4 2.6819044
8 0.98119493
16 0.58952581
32 0.81069577
64 1.0830882
EOD
$p1s2 << EOD
1 1.7069186
2 0.87983298
4 0.59380132
8 0.39030084
16 0.27631271
32 0.21826862
64 0.18235395
EOD
$p1s3 << EOD
1 0.93490721
2 0.4617046
4 0.37700555
8 0.2430009
16 0.17875572
32 0.14750722
64 0.14131924
EOD
$p1s4 << EOD
1 0.19462474
2 0.10480086
4 0.078693476
8 0.053541055
16 0.036999722
32 0.032026601
64 0.027561501
EOD
$p1s5 << EOD
1 1.1532201
2 0.56178962
4 0.43192342
8 0.2847948
16 0.20451584
32 0.1912789
64 0.18138078
EOD
set multiplot title 'A against the length' font ',19'
set title 'Of a sentence' font ',15'
set xlabel 'tokens of the sentence, first of a level'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'rms A (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.10156
set rmargin at screen 0.48047
set tmargin at screen 0.88194
set bmargin at screen 0.32639
set key at screen 0.08594,0.22222 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'exact', \
     $p0s1 using 1:2 with linespoints lw 1.8 dt 3 pt 4 ps 0.9 lc rgb '#D55E00' title 'exact, lossless', \
     $p0s2 using 1:2 with linespoints lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'penalty 0.001', \
     $p0s3 using 1:2 with linespoints lw 2.5 pt 13 ps 0.8 lc rgb '#CC79A7' title 'penalty 0.1', \
     $p0s4 using 1:2 with linespoints lw 2.5 pt 11 ps 0.8 lc rgb '#E69F00' title 'penalty 10', \
     $p0s5 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#56B4E9' title 'constraint 1'
set title 'Per token' font ',15'
set xlabel 'tokens of the sentence, first of a level'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'rms A / T (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.60156
set rmargin at screen 0.98047
set tmargin at screen 0.88194
set bmargin at screen 0.32639
set key at screen 0.58594,0.22222 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p1s0 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'exact', \
     $p1s1 using 1:2 with linespoints lw 1.8 dt 3 pt 4 ps 0.9 lc rgb '#D55E00' title 'exact, lossless', \
     $p1s2 using 1:2 with linespoints lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'penalty 0.001', \
     $p1s3 using 1:2 with linespoints lw 2.5 pt 13 ps 0.8 lc rgb '#CC79A7' title 'penalty 0.1', \
     $p1s4 using 1:2 with linespoints lw 2.5 pt 11 ps 0.8 lc rgb '#E69F00' title 'penalty 10', \
     $p1s5 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#56B4E9' title 'constraint 1'
unset multiplot
