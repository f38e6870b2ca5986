# Raw and exact; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1280,720 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'sequences-time.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
5 0.61770625
10 1.2897675
20 2.640175
50 6.4163
100 12.8356
200 26.0302
1000 127.72
EOD
$p0s1 << EOD
5 0.068715
10 0.133575
20 0.26464
50 0.6612375
100 1.304925
200 2.58735
1000 12.88175
EOD
$p0s2 << EOD
5 0.8746
10 1.7308
20 3.53681
50 8.859675
100 17.6878
200 35.53135
1000 170.754
EOD
$p0s3 << EOD
5 0.10105125
10 0.1972425
20 0.380415
50 0.962425
100 1.902825
200 3.7926
1000 19.529
EOD
$p0s4 << EOD
5 30.349023
10 57.939843
20 114.83598
50 283.63569
100 568.20327
200 1135.3906
1000 5729.333
EOD
$p0s5 << EOD
5 0.661885
10 1.2647825
20 2.54664
50 6.3052625
100 12.7397
200 25.4869
1000 131.1025
EOD
$p1s0 << EOD
2 8.9893946
5 8.60508
17 8.6550142
49 15.830222
100 29.555594
300 45.85241
EOD
$p1s1 << EOD
2 9.9764775
5 9.0616758
17 9.2972412
49 15.091514
100 26.944301
300 45.093134
EOD
$p1s2 << EOD
2 9.8362741
5 9.5237886
17 9.2955474
49 15.851515
100 28.231442
300 44.600993
EOD
$p1s3 << EOD
2 9.9148019
5 9.0150766
17 8.7436121
49 13.881883
100 23.945591
300 43.701173
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
