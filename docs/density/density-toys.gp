# Gap to the true entropy, by objective and proposal; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1280,670 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'density-toys.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
1 0.050550827 0.0025610286
2 0.050399161 0.002411186
3 0.050535619 0.0025605047
4 0.050327959 0.0023987508
5 0.23087739 0.0026081187
6 0.24619017 0.001737417
7 0.48466109 0.029077407
8 0.23721114 0.0046737652
9 0.21269801 0.064489274
10 1.4623074 0.33197895
EOD
$p0s1 << EOD
1 0.029909542 0.0015725166
2 0.029761376 0.0012687823
3 0.029912273 0.0015730612
4 0.029743651 0.0012713077
5 0.14091322 0.0037715505
6 428.06751 73.589659
7 300.6017 91.280385
8 0.31253461 0.013033211
9 0.077491081 0.0012486957
10 0.21749116 0.041494698
EOD
$p0s2 << EOD
1 0.029558193 0.0032304067
2 0.029803227 0.0031901972
3 0.029568938 0.0032310783
4 0.029785593 0.0031922984
5 0.081285863 0.0025573285
6 1211.5828 101.41123
7 944.5851 20.393944
8 0.42140782 0.01224206
9 0.073513504 0.028222159
10 0.43529667 0.214574
EOD
$p0s3 << EOD
1 0.024662358 0.0029632798
2 0.025099785 0.0027835945
3 0.024679148 0.0029661005
4 0.025091942 0.002782189
5 0.040940032 0.00042831931
6 0.032908049 0.0029994815
7 0.040402965 0.0012513336
8 0.061181501 0.0029175025
9 0.073735594 0.0049233103
10 0.48837063 0.13178315
EOD
$p1s0 << EOD
1 0.045151349 1.7438286e-06
2 0.045355772 0.00029542817
3 0.045100763 4.7020448e-06
4 0.045075504 0.0003230504
5 0.040712292 0.001555204
6 0.046295095 0.0014712658
7 0.044082592 0.0013447189
EOD
$p1s1 << EOD
1 0.031102828 0.0024869758
2 0.029919892 0.0031215652
3 0.031085443 0.0024783088
4 0.029568611 0.0030116823
5 0.028529322 0.0022804795
6 0.029951487 0.0018475032
7 0.028152836 0.0012137369
EOD
$p1s2 << EOD
1 0.030863359 0.0013667379
2 0.030490432 0.0011040056
3 0.030748217 0.0013869386
4 0.030071335 0.0012810696
5 0.028728544 0.0024397065
6 0.029847843 0.0020530265
7 0.025639363 0.0019753704
EOD
$p1s3 << EOD
1 0.01221507 0.0025125821
2 0.012351984 0.0024414621
3 0.01221745 0.0025194931
4 0.012430101 0.002557295
5 0.013726502 0.0030694259
6 0.01270091 0.0022030831
7 0.017488019 0.0028956916
EOD
set multiplot title 'Gap to the true entropy, by objective and proposal' font ',19'
set title 'The fitted mixture' font ',15'
set xlabel 'objective'
unset logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'gap (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
unset xlabel
set xrange [0.5:10.5]
set xtics ('snl' 1, 'is' 2, 'nce' 3, 'ranking-nce' 4, 'fit' 5, 'cd' 6, 'pcd' 7, 'dsm' 8, 'ssm' 9, 'sm' 10) rotate by -20
set lmargin at screen 0.10156
set rmargin at screen 0.48047
set tmargin at screen 0.87313
set bmargin at screen 0.27612
set key at screen 0.08594,0.16418 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#0072B2' title 'checkerboard', \
     $p0s1 using 1:2:3 with yerrorbars lw 2 pt 5 ps 0.9 lc rgb '#D55E00' title 'four-circles', \
     $p0s2 using 1:2:3 with yerrorbars lw 2 pt 9 ps 0.9 lc rgb '#009E73' title 'pinwheel', \
     $p0s3 using 1:2:3 with yerrorbars lw 2 pt 13 ps 0.9 lc rgb '#CC79A7' title 'eight-gaussians'
set title 'A single wide Gaussian, and what repairs it' font ',15'
set xlabel 'objective and proposal'
unset logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'gap (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
unset xlabel
set xrange [0.5:7.5]
set xtics ('snl' 1, 'is' 2, 'nce' 3, 'ranking-nce' 4, 'repair 1' 5, 'repair 2' 6, 'repair 3' 7) rotate by -20
set lmargin at screen 0.60156
set rmargin at screen 0.98047
set tmargin at screen 0.87313
set bmargin at screen 0.27612
set key at screen 0.58594,0.16418 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p1s0 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#0072B2' title 'checkerboard', \
     $p1s1 using 1:2:3 with yerrorbars lw 2 pt 5 ps 0.9 lc rgb '#D55E00' title 'four-circles', \
     $p1s2 using 1:2:3 with yerrorbars lw 2 pt 9 ps 0.9 lc rgb '#009E73' title 'pinwheel', \
     $p1s3 using 1:2:3 with yerrorbars lw 2 pt 13 ps 0.9 lc rgb '#CC79A7' title 'eight-gaussians'
unset multiplot
