# Likelihood against normalisation; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 860,720 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'sequences-ewt.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
6.7574073 0 0
EOD
$p0s1 << EOD
0.45580965 3.8408624e-08 6.3591148e-09
EOD
$p0s2 << EOD
0.45580969 0 0
EOD
$p0s3 << EOD
0.87755785 -0.0006890555 0.00028409339
0.6666127 -0.0013221047 0.00044158342
0.5135765 -0.002904663 0.00050606018
0.3825466 -0.0019458546 0.00062828619
0.29817529 0.042902428 0.0017412897
0.21805744 0.1548479 0.0033557718
0.075494322 0.47599226 0.0061257577
EOD
$p0s4 << EOD
0.46401654 -0.0012054971 0.00061238262
EOD
$p0s5 << EOD
4.0187684 0.00089063456 0.00053253588
0.33265827 0.0098696313 0.001057177
0.5169272 0.082524603 0.0020281756
EOD
set multiplot title 'Likelihood against normalisation' font ',19'
set title 'What being normalised costs' font ',15'
set xlabel 'rms A per token (nats)'
set logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'exact NLL lost per token (nats)'
unset logscale y
set yrange [*:*]
set format y '%g'
set lmargin at screen 0.15116
set rmargin at screen 0.97093
set tmargin at screen 0.88194
set bmargin at screen 0.32639
set key at screen 0.12791,0.22222 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#0072B2' title 'exact', \
     $p0s1 using 1:2:3 with yerrorbars lw 2 pt 5 ps 0.9 lc rgb '#D55E00' title 'lossless', \
     $p0s2 using 1:2:3 with yerrorbars lw 2 pt 9 ps 0.9 lc rgb '#009E73' title 'b(x)', \
     $p0s3 using 1:2:3 with yerrorlines lw 2.5 pt 13 ps 0.8 lc rgb '#CC79A7' title 'penalty', \
     $p0s4 using 1:2:3 with yerrorbars lw 2 pt 11 ps 0.9 lc rgb '#E69F00' title 'constraint', \
     $p0s5 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#56B4E9' title 'AdaGrad'
unset multiplot
