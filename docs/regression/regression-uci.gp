# Real tables; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 860,670 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'regression-uci.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
1 0.051902724 0.019048599
2 0.17425445 0.018657573
3 0.40370433 0.13621372
4 0.018581076 0.0021357602
5 0.18921403 0.0072059453
6 0.11395741 0.010197835
7 0.81209671 0.015865194
EOD
$p0s1 << EOD
1 0.049232734 0.019117834
2 0.1922172 0.019532787
3 0.38948288 0.13695204
4 0.0046116926 0.0023448731
5 0.17467335 0.0075438378
6 0.10300783 0.0098678843
7 0.74739901 0.017825046
EOD
$p0s2 << EOD
1 -0.12850855 0.040816659
2 -0.20043486 0.03221566
3 -0.71748065 0.1440664
4 -0.20229634 0.0056399071
5 -0.025767123 0.0089595566
6 -1.7846674 0.042183043
7 -0.1239745 0.012770768
EOD
$p0s3 << EOD
1 -0.14850855 0.040816659
2 -0.18043486 0.03221566
3 0.062519351 0.1440664
4 -0.91229634 0.0056399071
5 -0.025767123 0.0089595566
6 -0.80466741 0.042183043
7 -0.1039745 0.012770768
EOD
set multiplot title 'Real tables' font ',19'
set title 'Below the Gaussian network' font ',15'
set xlabel 'table'
unset logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'NLL of the Gaussian network - NLL (nats)'
unset logscale y
set yrange [*:*]
set format y '%g'
unset xlabel
set xrange [0.5:7.5]
set xtics ('boston' 1, 'concrete' 2, 'energy' 3, 'kin8nm' 4, 'power' 5, 'yacht' 6, 'protein' 7) rotate by -20
set lmargin at screen 0.15116
set rmargin at screen 0.97093
set tmargin at screen 0.87313
set bmargin at screen 0.27612
set key at screen 0.12791,0.16418 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#0072B2' title 'snl', \
     $p0s1 using 1:2:3 with yerrorbars lw 2 pt 5 ps 0.9 lc rgb '#D55E00' title 'mdn', \
     $p0s2 using 1:2:3 with yerrorbars lw 2 pt 9 ps 0.9 lc rgb '#009E73' title 'deep ensembles, printed', \
     $p0s3 using 1:2:3 with yerrorbars lw 2 pt 13 ps 0.9 lc rgb '#CC79A7' title 'NGBoost, printed'
unset multiplot
