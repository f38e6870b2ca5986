# Raw and exact; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1280,720 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'sequences-time.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
5 0.62392875
10 1.2611
20 2.60823
50 6.325275
100 12.57495
200 25.72525
1000 128.764
EOD
$p0s1 << EOD
5 0.06899
10 0.13678
20 0.272355
50 0.6824
100 1.35325
200 2.68045
1000 13.33975
EOD
$p0s2 << EOD
5 0.8648875
10 1.8461725
20 3.698805
50 8.9128875
100 18.328275
200 35.44275
1000 176.96575
EOD
$p0s3 << EOD
5 0.10202625
10 0.199495
20 0.399195
50 0.993225
100 2.038275
200 4.01395
1000 20.38275
EOD
$p0s4 << EOD
5 50.244682
10 99.822672
20 202.9091
50 705.58001
100 1345.0234
200 1932.1278
1000 10092.589
EOD
$p0s5 << EOD
5 0.79804875
10 1.6182825
20 3.135865
50 9.0214125
100 16.50555
200 29.81585
1000 168.45325
EOD
$p1s0 << EOD
2 9.0437563
5 8.8824772
17 8.4771076
49 15.156945
100 22.294463
300 62.959415
EOD
$p1s1 << EOD
2 9.576582
5 9.3646874
17 9.2656596
49 14.574247
100 17.064289
300 64.705942
EOD
$p1s2 << EOD
2 9.2924072
5 9.2369468
17 8.9920521
49 15.249135
100 28.620159
300 81.48916
EOD
$p1s3 << EOD
2 9.6526547
5 9.2330034
17 8.6821332
49 13.618114
100 15.803218
300 59.913293
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
