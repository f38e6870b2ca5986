// ranking-nce, also sampled softmax with log q correction (Jozefowicz et al. 2016, Ma & Collins 2018;
// theory.md 3): the target's share among the target and k noise classes. With a = s - log q, maximise
//     a_y - log( exp a_y + sum_j exp a_j ),   p_i the softmax of these k + 1 numbers.
//     d loss/ds = p_y - 1,   d/ds_j = p_j,   d/db = 0.
// A constant added to all scores cancels: the right p(y|x) is found, but log Z(x) is left free. Finite for
// all finite scores.
#pragma once

namespace selfnorm {

struct ObjectiveEntry;

// In the registry.
ObjectiveEntry ranking_nce_entry();

}  // namespace selfnorm
