# Variance of A that no equivalent parameters remove (V*); drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1280,745 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'theorem4.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
1 0.00032200763
1.7782794 0.0027238614
3.1622777 0.018344931
5.6234133 0.092703752
10 0.39340305
17.782794 1.5214352
31.622777 5.4136472
56.234133 18.253502
100 59.790124
177.82794 192.80007
316.22777 616.36569
562.34133 1961.0459
1000 6222.631
EOD
$p0s1 << EOD
17.782794 4.6764478
31.622777 15.621472
56.234133 49.410587
100 156.25
177.82794 494.10588
316.22777 1562.5
562.34133 4941.0588
1000 15625
EOD
$p0s2 << EOD
1 0.00045987911
1.7782794 0.004084992
3.1622777 0.030364959
5.6234133 0.16933015
10 0.70752551
17.782794 2.4848245
31.622777 8.1891439
56.234133 26.463829
100 84.7251
177.82794 269.80685
316.22777 856.58661
562.34133 2714.8144
1000 8595.7897
EOD
$p0s3 << EOD
56.234133 8.1008052
100 26.041236
177.82794 82.350981
316.22777 260.41667
562.34133 823.50981
1000 2604.1667
EOD
$p0s4 << EOD
1 0.00025029092
1.7782794 0.0022671628
3.1622777 0.017438675
5.6234133 0.099481238
10 0.40673468
17.782794 1.3692739
31.622777 4.3677879
56.234133 13.826066
100 43.729514
177.82794 138.295
316.22777 437.3452
562.34133 1383.0392
1000 4373.6115
EOD
$p0s5 << EOD
177.82794 6.8668705
316.22777 23.671574
562.34133 74.864528
1000 236.74242
EOD
$p0s6 << EOD
1 0.0036068737
1.7782794 0.030990097
3.1622777 0.21596909
5.6234133 1.1258963
10 4.6373431
17.782794 16.802825
31.622777 57.140304
56.234133 188.01783
100 607.79143
177.82794 1945.7284
316.22777 6195.322
562.34133 19666.909
1000 62326.833
EOD
$p1s0 << EOD
2 0.006222631
3 0.0087490075
4 0.0085957897
6 0.0071897292
8 0.0059670186
10 0.0050565929
12 0.0043736115
EOD
$p1s1 << EOD
2 0.00625
3 0.0087719298
4 0.0086096939
6 0.0071938306
8 0.0059681236
10 0.0050568812
12 0.0043736856
EOD
$p1s2 << EOD
2 0.062326833
3 0.062326833
4 0.062326833
6 0.062326833
8 0.062326833
10 0.062326833
12 0.062326833
EOD
$p1s3 << EOD
2 0.015625
3 0.0052083333
4 0.0026041667
6 0.0010416667
8 0.00055803571
10 0.00034722222
12 0.00023674242
EOD
set multiplot title 'Variance of A that no equivalent parameters remove (V*)' font ',19'
set title 'V* against |eta|' font ',15'
set xlabel '|eta| (no unit)'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'V* (squared nats)'
set logscale y
set yrange [0.001:*]
set format y '%g'
set lmargin at screen 0.10156
set rmargin at screen 0.48047
set tmargin at screen 0.88591
set bmargin at screen 0.34899
set key at screen 0.08594,0.24832 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'paper''s eta0, d = 2', \
     $p0s1 using 1:2 with lines lw 2 dt 2 lc rgb '#0072B2' title 'right-hand side of the theorem, d = 2', \
     $p0s2 using 1:2 with linespoints lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'paper''s eta0, d = 4', \
     $p0s3 using 1:2 with lines lw 2 dt 2 lc rgb '#D55E00' title 'right-hand side of the theorem, d = 4', \
     $p0s4 using 1:2 with linespoints lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'paper''s eta0, d = 12', \
     $p0s5 using 1:2 with lines lw 2 dt 2 lc rgb '#009E73' title 'right-hand side of the theorem, d = 12', \
     $p0s6 using 1:2 with linespoints lw 2.5 pt 13 ps 0.8 lc rgb '#CC79A7' title 'XOR construction, every d'
set title 'V*/|eta|^2 at |eta| = 1000' font ',15'
set xlabel 'dimension d of the cube'
unset logscale x
set xrange [1.5:12.5]
set format x '%g'
set ylabel 'V*/|eta|^2 (squared nats)'
set logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.60156
set rmargin at screen 0.98047
set tmargin at screen 0.88591
set bmargin at screen 0.34899
set key at screen 0.58594,0.24832 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p1s0 using 1:2 with points pt 7 ps 0.45 lc rgb '#0072B2' title 'paper''s eta0, measured', \
     $p1s1 using 1:2 with lines lw 2 dt 2 lc rgb '#009E73' title 'its limit, (d-1)^2/(16 d^3 |eta0|^2)', \
     $p1s2 using 1:2 with linespoints lw 2.5 pt 13 ps 0.8 lc rgb '#CC79A7' title 'XOR construction, measured', \
     $p1s3 using 1:2 with lines lw 2 dt 2 lc rgb '#D55E00' title 'right-hand side of the theorem'
unset multiplot
