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
//	                                                          unless the columns are orthogonal; it tells the
//	                                                          largest cosine of two columns
//	                         cholesky_row, gram_* (k > 128)   a block-row of a larger one; its rest
//	QR         §4.2          qr_64, qr_128                    the factor of 2048 rows of a broken pivot; the
//	                                                          last one also that of the factors of all
//	                         (k > 128) qr_exponents,          a column; its scale, …
//	                         qr_gather, cuSOLVER, qr_scatter
//	Jacobi     §4.3          jacobi_32, _64, _128             one sweep of a factor, or T, which it makes
//	                                                          orthogonal in the end
//	Multiply   Alg. 4.2      mark_columns                     which columns are near the identity, or zero
//	                         multiply_64, _128, _256          64 rows of [P Q]·T, in place
//	                         multiply_stream (64 < k ≤ 128)   some tiles of 32 rows, of one or more problems
//	                         copy_rows, multiply_large (k > 256)
//	  of float32             single_gram_small, _diagonal     64² or 128² elements over a chunk of rows, or
//	                                                          those of P with Q, where others are known; the
//	                         (k > 128) single_gram_other      same beside the diagonal
//	                         single_gram_plain                64² elements without tensor cores
//	                         single_gram_add                  the sum of the chunks, made symmetric, and what
//	                                                          is known
//	                         single_image_64, _128            T, split and laid out for the tensor cores
//	                         single_multiply_64, _128         some tiles of 64 rows, of one or more problems
//	                         (k > 128) single_image_blocks,   the same for a block of 128×128 of T, from copies
//	                         single_copy,                     of rows
//	                         single_multiply_block
//	                         single_weights, single_product   the same without tensor cores
//	Identity   initV         identity_64, identity_32         a column
//	norms      Sigma, App. A column_norms_64, column_norms_32 a column
//
// Batches of float32 have kernels whose names begin with single: those of Cholesky and QR are of the same
// source, the others of their own.
//
// # Products
//
// The operands of a product are copied to shared memory 16 or 32 elements of the inner dimension at a time,
// three stages deep, while the tensor cores work on the stage before; a warp keeps a 32×32 tile of the result
// in registers (tile.cuh, tiling.go). GPUs before compute capability 8.0 have neither, and use ordinary fused
// multiply-adds. Leading dimensions are below 2³¹.
//
// From compute capability 9.0 on, pivots of 65 to 128 columns pass through shared memory instead, 32 rows at
// a time, six tiles deep (stream.cuh). T stays in registers, and a multiprocessor goes from one problem to
// the next without a pause.
//
// # Products of float32
//
// They need compute capability 9.0, and NVRTC 12 or newer, which compiles for sm_90a. Other GPUs multiply
// without tensor cores. A number is split into two of TF32, so that three products have nearly the accuracy
// of float32 (wgmma.cuh). What the tensor cores take from shared memory they cut off to TF32 themselves. So
// Gram matrices need no second copy of G there. Sums within the tensor cores are cut off and not rounded:
// they are short, and added up in float32. For Multiply [P Q] passes through registers, and T, in two
// parts, is in shared memory.
//
// # Jacobi
//
// A sweep of a factor of order k is k−1 p-steps one after the other, each of k/2 independent pairs of
// columns, or k/2 p-steps where pairs across are visited alone. Up to eight p-steps, where the schedule
// allows, are a round (rounds.go). In a round a warp has
// sixteen columns to itself, in shared memory (group.cuh). It forms their Gram matrix on the tensor cores. A
// p-step is eight rotations, each formed in a lane of its own (rotation.cuh), and their application to the
// Gram matrix, of which each lane has eight numbers. The columns are multiplied once, at the end of the
// round, by the product of the rotations. If a column becomes much shorter, they are multiplied at once, and
// the Gram matrix is formed anew. It also tells where no pair of a round needs a rotation. A round of one
// p-step goes without it. Between rounds the warps of a block meet.
//
// T needs as much room again, but only listens: another block multiplies it by the rotations as they come,
// and makes T orthogonal after the last sweep. So a problem has two multiprocessors, and its time is that of
// R, the last round of T and two products.
//
// Float32 (single_jacobi.cu) has rounds too. One block has the products of all columns of R with each
// other in shared memory, and nothing else. Its warps rotate those of sixteen columns, and in between
// bring the others up to date on the tensor cores (single_square.cuh). The other block multiplies R and T
// by what was done in a round. A rotation is formed from the products of two columns and the ratio of
// their norms (single_rotation.cuh). T has no Newton–Schulz step; both R·T and T are divided by the
// lengths of the columns of R·T.
//
// # Dense
//
// Products and triangular solves are cuBLAS's, Cholesky factors cuSOLVER's (blas.go, solver.go). They are
// opened when they are first needed. For few columns and many rows cuBLAS is slow. Kernels of our own do Syrk
// of tall panels, all of a list in three launches, and Trsm 64 columns at a time, between products (tall.cu).
// Where one is missing the primitive fails. A product of a list is one call. cuBLAS has a workspace of its
// own and its default mode: no atomics, no TF32, no emulation of float64. A product with some columns of a
// matrix is cuBLASLt's, by the algorithm that it advises for all of them (matmul.go). The kernels of
// shape.cu, measure.cu and angles.cu move and measure.
//
// TurnColumns takes all panels of up to 16, 32, 64 and 128 columns in a launch each (turn_columns.cu). A warp
// has 16 or 32 rows of all columns in registers, as operands of the tensor cores, before it writes the first.
//
// Up to 64 reflectors go over a list of panels in three launches (reflect.cu). The rows of YᵀC are summed 32
// at a time (16 before compute capability 9.0), those sums over pieces of 512 rows, and the pieces in eight
// parts. With more reflectors YᵀC is summed in the same way, in tiles of 128×128 where these are enough for
// all multiprocessors, and two products of cuBLAS do the rest: cuBLAS adds the terms of a sum one after the
// other, which rounds equal ones in one direction.
//
// A panel is factored by one kernel of up to 128 blocks, each with a slice of the rows. All blocks run at the
// same time (a cooperative launch). They meet by letters (grid.cuh): each writes what it has for all others,
// and every word of a letter carries the number of the meeting. So a block waits for nothing but the numbers
// that it needs. All add the same partial sums in the same order, and keep the same copy of all that is
// small.
//
// With pivoting (pivoted.cu) the blocks meet twice for each column, and choose the same pivots. A slice has
// 128 rows at least. It is in shared memory if it fits.
//
// In natural order (natural.cu) they meet once. A slice has 64 to 1024 rows, and is in registers. Where a
// panel is too high for slices of 64, 32 or 16 columns, it is factored by halves, joined by Reflect and Join.
// Panels of more rows than all blocks have room for stay where they are, 16 columns at a time.
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
// Primitives return when their kernels are queued. A step of the method is seven launches, with no wait in
// between: what depends on the outcome of a kernel (Broken, Inactive, Changed) is looked up on the device by
// the next ones. Tallies come back with Sync. The descriptors of the problems are copied in the first sweep,
// and again only where they have changed (queue.go).
//
// # Memory
//
// Memory that the caller gives back is kept for the next allocation of its size (kernels.Heap). A few numbers
// pass through pinned memory (move.go): the driver takes ten times as long otherwise.
//
// # Lanes
//
// A batch of 32 problems or more is cut into two halves. Each has a stream of its own, a lane (lanes.go). So
// the factors of one half, which need few multiprocessors and much time, are worked on beside the products of
// the other. All kernels but those of Multiply have priority, since otherwise the other lane's blocks would
// start after the last block of a product. A lane waits for the other only where a batch has a panel that the
// other had before. In a sweep of the default strategy this is so twice. What is not a primitive on batches
// waits for both lanes, and they for it.
//
// The blocks of multiply_stream, single_multiply_64 and _128 stay on their multiprocessors to the end, and
// priority is of no use beside them. There lanes take turns (turns.go): between the products of one and those
// of the other lie Gram matrices, and a product leaves multiprocessors to the other lane's Jacobi. The second
// half of Multiply is held back on the host until the next Gram, or whatever else comes. A small batch of
// which little is expected (Quiet) is not cut.
//
// # Beside
//
// What is called beside all else has a stream of the lowest priority, with scratch memory of its own, and
// memory through which lists go to it (beside.go). Nothing waits for it but what follows its marks, and Sync.
// cuBLASLt serves every lane. cuBLAS and cuSOLVER serve the first alone: there they fail.
//
// # Marks
//
// A mark is an event on the first lane, when it has waited for the others, or on the stream of what is called
// beside. Panels are brought on a stream of their own (marks.go). Those of another device take no
// multiprocessor; those of the device itself are copied by kernels, for which the stream has the highest
// priority. Devices of a process wait for each other's events.
package cuda
