# Real tables; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 860,645 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'density-tables.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
1 1.1598562 0.033681287
2 0.89397426 0.010369436
3 6.5883533 0.17704637
4 7.5141144 0.10532896
EOD
$p0s1 << EOD
1 1.3517302 0.015661801
2 0.63788727 0.021707163
3 4.4690244 0.17526757
4 6.0575133 0.079758398
EOD
$p0s2 << EOD
1 1.1648316 0.033719451
2 1.1516109 0.017224489
3 6.7233876 0.177989
4 7.970821 0.095363129
EOD
set multiplot title 'Real tables' font ',19'
set title 'Above the Gaussian' font ',15'
set xlabel 'table'
unset logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'log-likelihood above the Gaussian (nats per row)'
unset logscale y
set yrange [*:*]
set format y '%g'
unset xlabel
set xrange [0.5:4.5]
set xtics ('power-plant' 1, 'kin8nm' 2, 'protein' 3, 'letter' 4) rotate by -20
set lmargin at screen 0.15116
set rmargin at screen 0.97093
set tmargin at screen 0.86822
set bmargin at screen 0.24806
set key at screen 0.12791,0.13178 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#0072B2' title 'mixture', \
     $p0s1 using 1:2:3 with yerrorbars lw 2 pt 5 ps 0.9 lc rgb '#D55E00' title 'kde', \
     $p0s2 using 1:2:3 with yerrorbars lw 2 pt 9 ps 0.9 lc rgb '#009E73' title 'snl'
unset multiplot
