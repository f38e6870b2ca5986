#include "selfnorm/math/parallel.h"

namespace selfnorm {

ThreadLimit::ThreadLimit(int threads) {
  if (threads > 0) {
    control_ = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                     static_cast<size_t>(threads));
  }
}

}  // namespace selfnorm
