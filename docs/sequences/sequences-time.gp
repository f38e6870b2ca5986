# Raw and exact; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1280,720 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'sequences-time.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
5 0.622225
10 1.26333
20 2.57303
50 6.2917375
100 12.590475
200 25.10635
1000 128.23825
EOD
$p0s1 << EOD
5 0.07093
10 0.1391075
20 0.277715
50 0.6894
100 1.361025
200 2.697
1000 13.3425
EOD
$p0s2 << EOD
5 0.8776425
10 1.86222
20 3.554585
50 9.0142875
100 17.7469
200 35.32655
1000 176.35
EOD
$p0s3 << EOD
5 0.09916
10 0.202075
20 0.401195
50 0.9992375
100 1.959425
200 3.8768
1000 19.66925
EOD
$p0s4 << EOD
5 48.806105
10 95.66907
20 189.99644
50 467.57081
100 933.06455
200 1864.1787
1000 9717.163
EOD
$p0s5 << EOD
5 0.75947875
10 1.4367125
20 2.845085
50 7.1634125
100 13.9928
200 28.9045
1000 155.50375
EOD
$p1s0 << EOD
2 8.7723812
5 9.2519869
17 8.8507715
49 15.009793
100 24.668361
300 64.262634
EOD
$p1s1 << EOD
2 9.2650019
5 9.4318107
17 8.8599933
49 14.755889
100 42.32618
300 66.780585
EOD
$p1s2 << EOD
2 9.2507301
5 9.31207
17 9.0571979
49 15.164672
100 24.945886
300 66.681761
EOD
$p1s3 << EOD
2 9.611261
5 9.5516183
17 8.9657714
49 13.996817
100 38.910607
300 62.488287
EOD
set multiplot title 'Raw and exact' font ',19'
set title 'Of a sentence' font ',15'
set xlabel 'tokens of the sentence'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'microseconds'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.10156
set rmargin at screen 0.48047
set tmargin at screen 0.88194
set bmargin at screen 0.32639
set key at screen 0.08594,0.22222 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'exact, L = 2', \
     $p0s1 using 1:2 with linespoints lw 1.8 dt 3 pt 6 ps 0.9 lc rgb '#0072B2' title 'raw, L = 2', \
     $p0s2 using 1:2 with linespoints lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'exact, L = 17', \
     $p0s3 using 1:2 with linespoints lw 1.8 dt 3 pt 4 ps 0.9 lc rgb '#D55E00' title 'raw, L = 17', \
     $p0s4 using 1:2 with linespoints lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'exact, L = 300', \
     $p0s5 using 1:2 with linespoints lw 1.8 dt 3 pt 8 ps 0.9 lc rgb '#009E73' title 'raw, L = 300'
set title 'Exact over raw' font ',15'
set xlabel 'labels'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'time exact / time raw'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.60156
set rmargin at screen 0.98047
set tmargin at screen 0.88194
set bmargin at screen 0.32639
set key at screen 0.58594,0.22222 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p1s0 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'T = 5', \
     $p1s1 using 1:2 with linespoints lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'T = 20', \
     $p1s2 using 1:2 with linespoints lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'T = 100', \
     $p1s3 using 1:2 with linespoints lw 2.5 pt 13 ps 0.8 lc rgb '#CC79A7' title 'T = 1000'
unset multiplot
