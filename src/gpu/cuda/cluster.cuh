// Thread blocks that read each other's shared memory, in the order of their ranks (Hopper); before it a block is its own
// cluster.
#pragma once

#include <cooperative_groups.h>

namespace selfnorm::gpu {

__device__ inline int cluster_rank() {
#if __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().block_rank();
#else
  return 0;
#endif
}
__device__ inline int cluster_blocks() {
#if __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().num_blocks();
#else
  return 1;
#endif
}
__device__ inline void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().barrier_arrive();
#endif
}
__device__ inline void cluster_wait() {  // for all to have arrived
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().barrier_wait();
#else
  __syncthreads();
#endif
}
template <class Part>
__device__ inline Part part_of(Part* own, int rank) {
#if __CUDA_ARCH__ >= 900
  return *cooperative_groups::this_cluster().map_shared_rank(own, rank);
#else
  (void)rank;
  return *own;
#endif
}

}  // namespace selfnorm::gpu
