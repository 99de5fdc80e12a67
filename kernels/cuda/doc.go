// Package cuda is the GPU back end of jmpi: it implements kernels.Backend on NVIDIA GPUs of compute
// capability 7.0 and up.
//
// The kernels are the .cu files beside this one. They are embedded into the program and compiled by NVRTC for
// the GPU at hand when it is opened; the machine code is kept in a cache (cache.go). The driver and the
// libraries of the CUDA toolkit are opened at run time, so the same program runs where there is neither, and
// no toolkit is needed to build it.
//
// # Kernels
//
// A grid has one or more blocks of threads for every pivot problem of a batch; k is the order of a
// problem, w a warp of 32 threads.
//
//	primitive  [Nov15]       kernels                          a block of threads does
//	Gram       Alg. 4.1      gram_diagonal, gram_other        64² or 128² elements over a chunk of rows
//	                         gram_add                         the sum of the chunks in order, mirrored
//	Cholesky   §4.1          cholesky_block                   a factor up to k = 128, 8 columns at a time,
//	                                                          unless the columns are orthogonal
//	                         cholesky_row, gram_* (k > 128)   a block-row of a larger one; its rest
//	QR         §4.2          qr_exponents                     the scale of a column of a broken pivot
//	                         qr_piece, qr_join                the factor of 2048 rows; of the factors of all
//	                         qr_gather, cuSOLVER, qr_scatter  (k > 128) a column
//	Jacobi     §4.3          jacobi_16 … jacobi_128           one sweep of a factor, or of some rows of its T
//	                         jacobi_cancel                    columns of R·T that are only rounding errors
//	                         gram_*, newton_schulz            T ← T + T·(I − TᵀT)/2
//	                         jacobi_signed_16 …               the same for the hyperbolic SVD,
//	                         jacobi_departure                 with (I − J·TᵀJT)/2
//	Multiply   Alg. 4.2      mark_columns                     which columns are near the identity, or zero
//	                         multiply_64, _128, _256          64 rows of [P Q]·T, in place
//	                         copy_rows, multiply_large (k > 256)
//	Identity   initV         identity
//	norms      Sigma, App. A column_norms                     a column
//
// # Products
//
// The operands of a product are copied to shared memory 16 or 32 elements of the inner dimension at a time,
// three stages deep, while the tensor cores work on the stage before; a warp keeps a 32×32 tile of the result
// in registers (tile.cuh, tiling.go). GPUs before compute capability 8.0 have neither, and use ordinary fused
// multiply-adds. Leading dimensions are below 2³¹.
//
// # Jacobi
//
// A sweep of a factor of order k is k−1 p-steps one after the other, each of k/2 independent pairs of
// columns. R (128 KB at k = 128) is in the shared memory of one block of 2·k threads; 4 of them share a pair,
// and keep its two columns in registers between the three dot products and the rotation. T needs as much
// again, but only listens: other blocks, with some rows of T each, apply the rotations as they are published.
// So a problem has two to five multiprocessors, and its time is that of R alone. Where the schedule allows,
// the warps of a block meet only every eighth p-step (rounds.go).
//
// # Dense
//
// Products and triangular solves are cuBLAS's, Cholesky factors cuSOLVER's (blas.go, solver.go). They are
// opened when they are first needed. Where one is missing the primitive fails. A product of a list is one
// call. cuBLAS has a workspace of its own and its default mode: no atomics, no TF32, no emulation of float64.
// The kernels of shape.cu and measure.cu move and measure.
//
// Reflectors go over a list of panels in three launches (reflect.cu). The rows of YᵀC are summed 32 at a time
// (16 before compute capability 9.0), those sums over pieces of 512 rows, and the pieces in eight parts.
//
// A panel is factored by one kernel of up to 128 blocks, each with a slice of the rows. All blocks run at the
// same time (a cooperative launch). They meet by letters (grid.cuh): each writes what it has for all others,
// and every word of a letter carries the number of the meeting. So a block waits for nothing but the numbers
// that it needs. All add the same partial sums in the same order, and keep the same copy of all that is small.
//
// With pivoting (pivoted.cu) the blocks meet twice for each column, and choose the same pivots. A slice has
// 128 rows at least. It is in shared memory if it fits.
//
// In natural order (natural.cu) they meet once. A slice has 64 to 1024 rows, and is in registers. Where a
// panel is too high for slices of 64, 32 or 16 columns, it is factored by halves, joined by Reflect and three
// products. Panels of more rows than all blocks have room for stay where they are, 16 columns at a time.
//
// # Determinism
//
// No floating-point number is added by atomic operations. How a problem is cut into blocks depends on its
// shape alone, and for a panel on the number of multiprocessors if they are few. So the bits depend neither
// on the run nor on what else is in the batch. They differ from those of package cpu by the order of the
// sums; the rotation computed from three given dot products is the same, bit for bit (rotation.cuh).
//
// # Queue
//
// Primitives return when their kernels are queued. A step of the method is about a dozen launches and two
// small copies of descriptors, with no wait in between: what depends on the outcome of a kernel (Broken,
// Inactive, Changed) is looked up on the device by the next ones. Tallies come back with Sync (queue.go).
package cuda
