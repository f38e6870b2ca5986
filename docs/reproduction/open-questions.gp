# Open questions of the paper, measured; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1740,670 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'open-questions.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
0.003 3.2797495
0.01 3.3891691
0.03 3.7031095
0.1 5.3150833
0.2 8.6545938
0.4 21.830253
0.8 414.5376
EOD
$p0s1 << EOD
0.003 1.1797594
0.01 1.3610604
0.03 1.7391663
0.1 2.9756756
0.2 5.3012174
0.4 14.679529
0.8 146.35204
EOD
$p0s2 << EOD
0.003 1.0068632
0.01 1.0230843
0.03 1.0709443
0.1 1.2528402
0.2 1.5385512
0.4 2.1752032
0.8 3.8148957
EOD
$p0s3 << EOD
0.003 1.1967755
0.01 1.3983506
0.03 1.8328322
0.1 3.4521929
0.2 7.8554858
0.4 157.73513
EOD
$p1s0 << EOD
0.01 0.96926199
0.03 0.9157442
0.1 0.79273699
0.2 0.7367072
0.3 0.74505188
0.5 0.80598256
0.7 0.72739171
1 0.60882758
1 3.7793851
0.7 3.4752919
0.5 3.0134856
0.3 2.2911036
0.2 1.8656196
0.1 1.3451014
0.03 1.0855703
0.01 1.0270789
EOD
$p1s1 << EOD
0.01 1.0000897
0.03 1.0051984
0.1 1.0730675
0.2 1.2798781
0.3 1.5435179
0.5 1.9748986
0.7 2.1855496
1 2.2461246
EOD
$p1s2 << EOD
0.01 0.99759098
0.03 0.98114522
0.1 0.87790037
0.2 0.73446098
0.3 0.60416041
0.5 0.41122486
0.7 0.31391455
1 0.2015612
1 0.54072934
0.7 0.59129058
0.5 0.68038967
0.3 0.81312118
0.2 0.88616541
0.1 0.95951021
0.03 0.9954931
0.01 0.99948401
EOD
$p1s3 << EOD
0.01 0.99870903
0.03 0.98950885
0.1 0.92699521
0.2 0.82308694
0.3 0.7254258
0.5 0.57173139
0.7 0.4720374
1 0.38048525
EOD
$p2s0 << EOD
0.026853766 0.8423141 0.033033409
0.035489704 0.82175364 0.031003442
0.060638139 0.77149749 0.027050504
0.10986702 0.71123407 0.023346265
0.28245639 0.62928516 0.01668884
0.74184073 0.57392565 0.009700667
0.94086443 0.56523533 0.0089628006
1 0.56441252 0.0093798108
EOD
$p2s1 << EOD
0.02 0.11252645 0.004257314
0.05 0.22023718 0.0084781047
0.1 0.30856804 0.012268885
0.2 0.35849148 0.016032688
0.35 0.34778144 0.019860737
0.5 0.30241952 0.022482402
0.7 0.22301523 0.024629329
0.9 0.11309369 0.021487945
EOD
set multiplot title 'Open questions of the paper, measured' font ',19'
set title '(a) bound of Theorem 2 over the gap, tightest of three data sets' font ',15'
set xlabel 'delta (nats)'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'bound / measured gap'
set logscale y
set yrange [0.9:*]
set format y '%g'
set lmargin at screen 0.07471
set rmargin at screen 0.31897
set tmargin at screen 0.87313
set bmargin at screen 0.27612
set key at screen 0.06322,0.16418 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'multiclass, d = 10, K = 5', \
     $p0s1 using 1:2 with linespoints lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'multiclass, the square', \
     $p0s2 using 1:2 with linespoints lw 2.5 pt 9 ps 0.8 lc rgb '#009E73' title 'joint, 5 alternatives, 3 features', \
     $p0s3 using 1:2 with linespoints lw 2.5 pt 13 ps 0.8 lc rgb '#CC79A7' title 'joint, one feature, T = 1 or -1'
set title '(b) V* after a random perturbation, d = 8, |eta| = 50' font ',15'
set xlabel 'size of the perturbation / |eta|'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'V* / V* of the construction'
unset logscale y
set yrange [0:*]
set format y '%g'
set lmargin at screen 0.40805
set rmargin at screen 0.65230
set tmargin at screen 0.87313
set bmargin at screen 0.27612
set key at screen 0.39655,0.16418 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p1s0 using 1:2 with filledcurves closed fc rgb '#0072B2' fs transparent solid 0.25 border lc rgb '#0072B2' title 'the paper''s eta0, 10% to 90% of the draws', \
     $p1s1 using 1:2 with linespoints lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'the paper''s eta0, mean', \
     $p1s2 using 1:2 with filledcurves closed fc rgb '#D55E00' fs transparent solid 0.25 border lc rgb '#D55E00' title 'the XOR construction, 10% to 90% of the draws', \
     $p1s3 using 1:2 with linespoints lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'the XOR construction, mean'
set title '(c) share of Var A that costs, d = 40, K = 10' font ',15'
set xlabel 'effective rank of Gaussian x / d, or density of binary x'
unset logscale x
set xrange [0:1]
set format x '%g'
set ylabel 'V* / Var A (no unit)'
unset logscale y
set yrange [0:1]
set format y '%g'
set lmargin at screen 0.74138
set rmargin at screen 0.98563
set tmargin at screen 0.87313
set bmargin at screen 0.27612
set key at screen 0.72989,0.16418 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p2s0 using 1:2:3 with yerrorlines lw 2.5 pt 7 ps 0.8 lc rgb '#0072B2' title 'Gaussian x, by effective rank / d', \
     $p2s1 using 1:2:3 with yerrorlines lw 2.5 pt 5 ps 0.8 lc rgb '#D55E00' title 'binary x, by density'
unset multiplot
