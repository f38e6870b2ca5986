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
1 1.0961074
2 1.3223968
4 2.3659147
8 3.2463762
16 4.7241976
32 7.4903213
64 15.950777
EOD
$p0s2 << EOD
1 1.6620923
2 2.107915
4 3.2077717
8 4.1460339
16 5.9116965
32 8.7743149
64 13.71161
EOD
$p0s3 << EOD
1 0.91994775
2 1.1277006
4 2.014538
8 2.5976759
16 3.8482479
32 5.9386085
64 10.408127
EOD
$p0s4 << EOD
1 0.17118625
2 0.23931698
4 0.39137046
8 0.52967449
16 0.72955886
32 1.1842825
64 1.6694628
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
1 1.0961074
2 0.54050493
4 0.43335915
8 0.30472636
16 0.21932603
32 0.18378344
64 0.21225802
EOD
$p1s2 << EOD
1 1.6620923
2 0.86930896
4 0.59101412
8 0.38995571
16 0.27483669
32 0.21831009
64 0.18214856
EOD
$p1s3 << EOD
1 0.91994775
2 0.45787878
4 0.37691358
8 0.24279886
16 0.17819731
32 0.14791385
64 0.14209547
EOD
$p1s4 << EOD
1 0.17118625
2 0.10070694
4 0.073726576
8 0.048890322
16 0.033875385
32 0.029063642
64 0.023608384
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
