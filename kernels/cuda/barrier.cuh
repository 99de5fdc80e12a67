// Barriers in shared memory that threads arrive at without waiting, and copies that arrive when they are done
// (compute capability 9.0 and up).
#pragma once

#include "common.cuh"

#if __CUDA_ARCH__ >= 900
// set_barrier makes a barrier at an address within shared memory, complete when so many have arrived.
__device__ inline void set_barrier(unsigned barrier, int count)
{
	asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// arrive makes this thread arrive at a barrier.
__device__ inline void arrive(unsigned barrier)
{
	asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier) : "memory");
}

// arrive_copied lets this thread arrive at a barrier when the copies that it has started are done.
__device__ inline void arrive_copied(unsigned barrier)
{
	asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

// wait waits until all have arrived at the barrier: the first time with phase 0, then with 1, 0, …
__device__ inline void wait(unsigned barrier, int phase)
{
	asm volatile("{\n.reg .pred done;\n"
		     "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
		     "@!done bra again;\n}" ::"r"(barrier), "r"(phase) : "memory");
}

// copy_block starts to copy bytes, a multiple of 16, to shared memory, and arrives at a barrier that one
// arrival completes. One thread calls it.
__device__ inline void copy_block(unsigned to, const void *from, int bytes, unsigned barrier)
{
	asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(barrier),
		     "r"(bytes) : "memory");
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
		     ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
#endif
