# Normalisation against likelihood; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 860,795 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'fig2a.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
0.15 0.26220406
0.3 0.17974834
0.5 0.11098616
0.75 0.061593026
1 0.033927179
1.4 0.012659104
EOD
$p0s1 << EOD
0.15 0.31912574
0.3 0.22595233
0.5 0.14404635
0.75 0.083724767
1 0.049880312
1.4 0.022722848
EOD
$p0s2 << EOD
0.15 0.52122986
0.3 0.39831284
0.5 0.28406571
0.75 0.19347742
1 0.13664428
1.4 0.081946961
EOD
$p0s3 << EOD
0.15 0.68724795
0.3 0.55417467
0.5 0.42761936
0.75 0.32188519
1 0.25317601
1.4 0.18436114
EOD
$p0s4 << EOD
0.15 0.61634907
0.3 0.47393041
0.5 0.3381369
0.75 0.22729744
1 0.15699146
1.4 0.09225513
EOD
$p0s5 << EOD
0.082993322 0.094857872
0.14785392 0.065692026
0.23268471 0.041289138
0.32325239 0.028168974
0.47244702 0.020385814
0.76209558 0.015361413
1.4577296 0.0096879462
EOD
$p0s6 << EOD
0.49 0.17
0.58 0.116
0.84 0.102
1.4 0.069
EOD
$p0s7 << EOD
0.44 0.139
0.58 0.103
0.73 0.09
0.99 0.05
EOD
$p0s8 << EOD
0.28 0.11
0.68 0.03
1.35 0.01
EOD
set multiplot title 'Normalisation against likelihood' font ',19'
set title 'lower left is better: close to normalised at little loss' font ',15'
set xlabel 'root mean square of log Z about log K (nats)'
unset logscale x
set xrange [0:*]
set format x '%g'
set ylabel 'likelihood gap (nats per example)'
unset logscale y
set yrange [0:*]
set format y '%g'
set lmargin at screen 0.15116
set rmargin at screen 0.97093
set tmargin at screen 0.89308
set bmargin at screen 0.38994
set key at screen 0.12791,0.29560 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'synthetic, tau = 0.5, KL = 3.33', \
     $p0s1 using 1:2 with linespoints lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'synthetic, tau = 1, KL = 3.74', \
     $p0s2 using 1:2 with linespoints lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'synthetic, tau = 2, KL = 4.44', \
     $p0s3 using 1:2 with linespoints lw 2.5 pt 13 ps 0.8 lc rgb '#CC79A7' title 'synthetic, tau = 4, KL = 5.03', \
     $p0s4 using 1:2 with linespoints lw 2.5 pt 11 ps 0.8 lc rgb '#E69F00' title 'synthetic, tau = 8, KL = 5.16', \
     $p0s5 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#56B4E9' title 'next word of a text, KL = 3.80', \
     $p0s6 using 1:2 with linespoints lw 1.8 dt 3 pt 4 ps 0.9 lc rgb '#000000' title 'paper''s Figure 2a, KL = 2.6', \
     $p0s7 using 1:2 with linespoints lw 1.8 dt 3 pt 8 ps 0.9 lc rgb '#777777' title 'paper''s Figure 2a, KL = 5.0', \
     $p0s8 using 1:2 with linespoints lw 1.8 dt 3 pt 12 ps 0.9 lc rgb '#882255' title 'neural language model [D] (mean |log Z|)'
unset multiplot
