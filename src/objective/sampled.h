// sampled [AK]: maximise s - (alpha/gamma) [x in H] A^2, H a random fraction gamma of each minibatch.
//     loss = -s + (alpha/gamma) [x in H] A^2,   d/ds = -1,   d/dA = 2 (alpha/gamma) A in H and 0 outside.
// gamma is the fraction realised in the batch, so that rounding |H| does not change alpha. The likelihood is
// never normalised. At the saturated optimum p is right and A = 1/(2 alpha): that constant is estimated after
// training, stored and subtracted. gamma = 0 has no normalizer at all and diverges.
#pragma once

namespace selfnorm {

struct ObjectiveEntry;

// In the registry.
ObjectiveEntry sampled_entry();

}  // namespace selfnorm
