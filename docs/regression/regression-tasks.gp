# Distance from the truth, by objective; drawn by: gnuplot THIS_FILE
set encoding utf8
set terminal svg size 1280,570 noenhanced font 'Arial,15' background '#ffffff' linewidth 1
set output 'regression-tasks.svg'
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lt 1 lw 0.7
$p0s0 << EOD
1 0.021633703 0.00086788805
2 0.022025514 0.0014228905
3 0.021318551 0.00098234447
4 0.021653149 0.0011462995
5 0.022561776 0.0018120848
6 0.021952726 0.0005143936
7 0.029683087 0.0017549728
8 0.025867056 0.00067505612
9 0.035373938 0.002368148
10 0.0261178 0.00094372232
EOD
$p1s0 << EOD
1 0.15958785 0.004627754
2 0.16389647 0.0058945491
3 0.16797052 0.0043859945
4 0.1606514 0.0026900856
5 0.16522789 0.0019789007
6 0.1661017 0.0038301802
7 0.19576042 0.0071243305
8 0.20664446 0.014751524
9 0.24036286 0.0020860577
10 0.17532711 0.0031952648
EOD
set multiplot title 'Distance from the truth, by objective' font ',19'
set title 'Task 1' font ',15'
set xlabel 'objective'
unset logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'KL(true || model), nats'
set logscale y
set yrange [*:*]
set format y '%g'
unset xlabel
set xrange [0.5:10.5]
set xtics ('snl' 1, 'is' 2, 'nce' 3, 'ranking-nce' 4, 'nce+' 5, 'kld-is' 6, 'mcmc' 7, 'sm' 8, 'dsm' 9, 'mdn' 10) rotate by -20
set lmargin at screen 0.10156
set rmargin at screen 0.48047
set tmargin at screen 0.85088
set bmargin at screen 0.14912
set key at screen 0.08594,0.01754 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p0s0 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#0072B2' notitle
set title 'Task 2' font ',15'
set xlabel 'objective'
unset logscale x
set xrange [*:*]
set format x '%g'
set ylabel 'NLL above the truth, nats'
set logscale y
set yrange [*:*]
set format y '%g'
unset xlabel
set xrange [0.5:10.5]
set xtics ('snl' 1, 'is' 2, 'nce' 3, 'ranking-nce' 4, 'nce+' 5, 'kld-is' 6, 'mcmc' 7, 'sm' 8, 'dsm' 9, 'mdn' 10) rotate by -20
set lmargin at screen 0.60156
set rmargin at screen 0.98047
set tmargin at screen 0.85088
set bmargin at screen 0.14912
set key at screen 0.58594,0.01754 left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font ',14'
plot $p1s0 using 1:2:3 with yerrorbars lw 2 pt 7 ps 0.9 lc rgb '#0072B2' notitle
unset multiplot
