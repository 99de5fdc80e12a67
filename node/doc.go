// Package node drives the devices of one rank: their buffers, the one recursion over the levels
// of the memory hierarchy, and a device's part of a sweep.
//
// # The recursion
//
// The one-sided Jacobi method multiplies G (m×n) from the right by plane rotations until its
// columns are orthogonal, G·V = U·Σ ([Nov15, (2.5)]). Grouped into block-columns
// ([Nov15, (2.6)]), one pivot problem is a pair [Gp Gq] of order k, and the same phases run on every level:
//
//  1. shorten: H = [Gp Gq]ᵀ[Gp Gq] = RᵀR by Cholesky ([Nov15, (2.7)]), or by QR where Cholesky
//     breaks down ([Nov15, (2.8)]). A pair whose H shows that its columns are orthogonal is done;
//  2. orthogonalize: find an orthogonal V' that makes the columns of R·V' (more) orthogonal;
//  3. postmultiply: [Gp Gq] ← [Gp Gq]·V', [Vp Vq] ← [Vp Vq]·V' ([Nov15, (2.9)]).
//
// Phase 2 is the pointwise method where k is small enough for the fastest memory. Otherwise R is cut into
// narrower block-columns, and one block-sweep over them (block-oriented variant) or block-sweeps until no
// proper rotation is left (full block variant) run phases 1 to 3 with R in the role of G and V' in the role
// of V. The pivot problems of one p-step of all parents together form one batch.
//
// P and Q were made orthogonal within themselves in the p-step before. So one inner sweep visits the pairs of
// a column of P with one of Q alone, but in every fourth p-step (recursion.across).
//
// # Float32
//
// Block-columns and factors may be float32 (Config.Precision). Then the columns of G are about as long as 1,
// and lie with their norms, which are float64 (Block, kernels.Single). On the next level R and its Factors
// take the places of G and its norms. T is the V of that level, and is multiplied as G is (Scaled).
//
// # Gram matrices that are kept
//
// Where a device keeps them (kernels.GramLimits), the Gram matrices of narrow block-columns lie with these
// (Block.Grams): in the SVD, where no level lies between the matrix and pointwise factors. R·T has the same
// products of columns as [Gp Gq]·V'. So the next Gram matrices of which a block-column is a part need its
// products with the other one only, half of the work. What is known is formed anew in the first sub-steps of
// each sweep, until all block-columns have been met (Outlook.Afresh, Program.Covering), since rounding errors
// add up, and in all sub-steps of the last sweeps where they are larger (kernels.KeepEarly).
//
// # Symbols
//
//	Gp, Gq      Batch.G[i].P, .Q     block-columns of a pivot pair
//	R_pq        Batch.R[i]           its triangular factor, order k
//	V'_pq       Batch.T[i]           its transformation
//	D           Block.Norms          the norms of G's columns, with float32
//	w           Layout.Width         width of the narrow block-columns
//	N           Layout.Columns       their number, the order of the fine ordering
//	c           Layout.PerMacro      narrow block-columns in a macro block-column
//	2g          Layout.Macros        macro block-columns, two on each of g devices
package node
