// Package cpu is the CPU back end of jmpi: it implements kernels.Backend with threads, OpenBLAS and
// kernels of its own.
//
// # Where the work is done
//
//	primitive    [Nov15]    factors of order ≤ 256                 larger factors (nested scheme)
//	Gram         Alg. 4.1   gram_simd.h                            gemm, in blocks of 256 columns
//	Cholesky     §4.1       potrf                                  potrf
//	QR           §4.2       geqrf, 2048 rows at a time (TSQR)      the same
//	Jacobi       §4.3       jacobi_simd.h, rotation_simd.h         – (the recursion of node goes below 256)
//	Multiply     Alg. 4.2   multiply_simd.h                        gemm, 256 rows at a time
//
// gemm is reached through gonum's BLAS interface, the two LAPACK routines directly, all for float64 and
// float32; they are OpenBLAS, set to one thread. Our own kernels exist because at these shapes they are
// faster than OpenBLAS (BenchmarkGram, BenchmarkMultiply), and pointwise Jacobi is in no library. They are C
// with vectors of 64 bytes (simd.h), compiled for AVX-512, for AVX2 and for any processor, and for both
// types, and chosen at run time: one source, six files that include it.
//
// # Float32
//
// Batches of float32 take half the time (BenchmarkSingle). What differs is how a rotation is formed, since
// the norms of the columns are apart (rotation_simd.h), and what is done after the rotations: columns of
// length 1 instead of zero columns and a step of Newton–Schulz.
//
// # Dense
//
//	Gemm, Syrk                   dgemm, dsyrk and their float32 forms, 256 columns of the result at a time
//	TurnColumns                  dgemm, from a copy of each panel
//	Trsm                         dtrsm and strsm, 256 rows at a time
//	Potrf                        dpotrf
//	FactorPanel, FactorPivoted   internal/dense, on one thread
//	Reflect                      internal/dense, 256 columns at a time
//	all others                   loops over columns or pieces of rows
//
// Each call of OpenBLAS is on one thread. The threads share the pieces. How a panel is cut depends on its
// shape alone.
//
// # Determinism
//
// A batch is cut into tasks, each a fixed piece of one problem, which the threads take in any order. So is a
// panel, or a list of them. Within our kernels every element of a result is computed by one fixed sequence of
// operations, whatever the tile, the piece or the instruction set. So the bits depend neither on the number
// of threads nor on what else is in the batch; with our own kernels not even on the processor.
package cpu
