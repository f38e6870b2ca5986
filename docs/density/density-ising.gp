# Ising models with known couplings; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1280,620 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'density-ising.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
1 0.032113242 0.0035613553
2 0.033398985 0.0023654343
3 0.03311927 0.0022084554
4 0.032471175 0.0037806979
5 0.038379912 0.0054519139
EOD
$p0s1 << EOD
1 0.030393632 0.0016638599
2 0.088006798 0.033233074
3 0.031166345 0.0027420901
4 0.030885854 0.0019766877
5 0.03437086 0.0022932163
EOD
$p1s0 << EOD
1 0.0057618276 0.00089802891
2 0.0062308868 0.00079192504
3 0.0061547252 0.00080316375
4 0.0061423312 0.001051511
5 0.0074570225 0.001412833
EOD
$p1s1 << EOD
1 0.013880744 0.00073604519
2 0.14026689 0.071676741
3 0.015224569 0.00099217784
4 0.014387022 0.00088302781
5 0.017333251 0.00035037649
EOD
set multiplot title 'Ising models with known couplings' font ',19'
set title 'Couplings' font ',15'
set xlabel 'method'
unset logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'rms error of the couplings'
set logscale y
set yrange [*:*]
set format y '%g'
unset xlabel
set xrange [0.5:5.5]
set xtics ('max. likelihood' 1, 'snl' 2, 'nce' 3, 'pseudo-likelihood' 4, 'pcd' 5) rotate by -20
set lmargin at screen 0.10156
set rmargin at screen 0.48047
set tmargin at screen 0.86290
set bmargin at screen 0.21774
set key at screen 0.08594,0.09677 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#0072B2' title '10 spins', \
     $p0s1 using 1:2:3 with yerrorbars lw 2 pt 5 ps 0.9 lc rgb '#D55E00' title '16 spins'
set title 'Distribution' font ',15'
set xlabel 'method'
unset logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'KL(true || model) (nats)'
set logscale y
set yrange [*:*]
set format y '%g'
unset xlabel
set xrange [0.5:5.5]
set xtics ('max. likelihood' 1, 'snl' 2, 'nce' 3, 'pseudo-likelihood' 4, 'pcd' 5) rotate by -20
set lmargin at screen 0.60156
set rmargin at screen 0.98047
set tmargin at screen 0.86290
set bmargin at screen 0.21774
set key at screen 0.58594,0.09677 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p1s0 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#0072B2' title '10 spins', \
     $p1s1 using 1:2:3 with yerrorbars lw 2 pt 5 ps 0.9 lc rgb '#D55E00' title '16 spins'
unset multiplot
