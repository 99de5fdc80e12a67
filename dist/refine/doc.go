// Package refine makes a singular value decomposition of full accuracy from right singular vectors that are
// right to some digits: those that the Jacobi method finds in float32. All is products of matrices.
//
// # The method
//
// Given are X, m×n with m ≥ n, and V, whose columns are nearly orthonormal, in about the order of decreasing
// singular values. The columns of G = X·V are then nearly orthogonal.
//
// V is made orthonormal first, each column by those before it. With VᵀV = I + S + Sᵀ, where S is upper
// triangular, V·(I − S) is nearer to orthonormal by the square of S (matrix.Departure). This is R⁻¹ of
// Cholesky-QR to first order. Where that is not enough, its second order, S less up(SᵀS) and S², takes the
// place of S; up halves the diagonal of the upper triangle. Where X is graded, so is V; its small elements
// are right in all their digits, and in this order S has small elements in the same places. So what belongs
// to large singular values leaves the vectors of small ones, down to the ratio of the two; but then one
// correction more is needed.
//
// G is held as U·D: U has unit columns, D their norms d. H = UᵀU has the cosines of the angles between the
// columns. Where all of them are below the tolerance, that of a pivot that the Jacobi method leaves alone
// (kernels.ScreenTolerance), the method ends: U, D and V are the singular value decomposition.
//
// After a pass that should have left next to nothing, random vectors tell whether U is orthonormal, which
// takes n² operations. If so, the method ends without H. What is left of a cosine is then below n·ε, and
// changes a singular value by this times the angle.
//
// Otherwise all pairs of columns are rotated at a time, which is a pass. The rotation of columns i and j has
// to first order the angle
//
//	E_ij = d_i·d_j·H_ij/(d_j² − d_i²)
//
// ([DM86]; the equation of [OA18] for the eigenvectors of GᵀG comes to the same). E is antisymmetric, so that
// W = (I + E²)^½ + E is orthogonal. G and V are multiplied by
//
//	W = I + F,  F = E + E²/2 − E⁴/8 + E⁶/16 − 5·E⁸/128 + …
//
// Which terms are needed depends on ‖E‖, the 2-norm; what is left out after E⁴ is below ‖E‖⁶/8, and after E⁸
// below ‖E‖¹⁰/32. E² = −EᵀE and E⁴ = (E²)ᵀE² are Gram matrices, of which half is formed; E⁶ and E⁸ take one
// product together. A pass squares the cosines, or so: from 1e-5 two are enough, mostly.
//
// Where cosines are larger, so that another pass would not be the last, what a pass leaves of the cosines to
// second order is rotated with them. With the notation above this is the symmetric part of
//
//	(H − I)·D·E·D⁻¹
//
// It is added to H, and E is formed anew. That costs a product, where a pass costs two and more.
//
// With m = n, in units of n³ operations, H takes 1, E² and E⁴ 1 each, E⁶ and E⁸ 2, the second order of H 2,
// and the products with G and V 4. X·V takes 2, a correction of V 2, and 0.7 more to second order. All in
// all this is about 20.
//
// Where float32 is enough hosts form products in it, which takes half the time: the second order of H, E² and
// E⁴, and blocks of F and S that are small, in V·F, U·F and V·S. A product x·f is off by 8·2⁻²⁴·‖f‖_F at most
// then, for orthonormal columns x (matrix.RoughError). Each of those that reach V may be off by `tiny`·n·ε.
// Where columns are graded all is float64: elements that are small would lose digits.
//
// # Values
//
// The singular values do not wait for the last pass. Where cosines are small they follow from these to second
// order, without any product (toSecondOrder). Bounds tell what is left out; it may be `tiny`·n·ε of a
// singular value. If it is more, or if there are large angles, the norms of the columns of G at the end are
// the values. What the vectors come to does not count: where they need more passes, or sweeps, the values
// stay.
//
// So the values need G alone from G = X·V on. V is verified before, and that W is orthogonal where its norm
// is an estimate. V is carried only if it is wanted, and without any vectors the last pass is a look. The
// values have the same bits, whatever is wanted.
//
// # The first pass, on hosts
//
// Another pass follows it. So nothing before that needs more digits than the first pass leaves wrong
// (place.Exact). On hosts V is first made orthonormal by one correction in float32, of S in float64: it is
// off by the square of S then. The first pass turns V alone, in float32. Then G = X·V is formed anew, in
// float64, which takes as long as U·F would. V is not orthonormal yet: VᵀV = I + S + Sᵀ with S of 1e-8 or so.
// The next pass makes it so with what it does besides, W = I + F − Sᵀ (complete), each column by those after
// it. In this order the cosines are not disturbed. Singular values must not be further apart than `wide`.
// Where a first pass cannot be made, or the next one would not be small, V is made orthonormal, and all
// begins again.
//
// For the values those cosines and those elements of S are enough that are near the diagonal, if random
// vectors tell that the others are small: only columns of nearly equal norms change each other's. These are a
// quarter of all for n = 2048.
//
// U becomes U + U·(D·F·D⁻¹), V becomes V + V·F. Products round componentwise, and that commutes with the
// scaling by D. So the small columns of G keep their relative accuracy, however graded G is.
//
// # Where passes do not serve
//
// Angles over largeAngle are left out: those of columns of nearly equal norms, which need large rotations.
// They join columns, sorted by their norms, to clusters. The eigenvectors of a cluster's part of D·H·D are
// the rotation that it needs. A host finds it, and the columns are multiplied by it after the pass. Clusters
// of more than `widest` columns are left alone. That serves equal singular values: the columns of G for these
// become orthogonal when they are so to all others, since V is orthonormal. [OA18] treat clusters too.
//
// Rounding errors over nearly equal norms would be large angles. So a cosine below the tolerance makes no
// cluster. It is rotated, down to a quarter of the tolerance, if the angle is small.
//
// Where passes do not serve at all the method hands back what it has, and says why (Outcome). The caller goes
// on with the Jacobi method on G, which accumulates its rotations in V.
//
// # Verification
//
// Before G is formed from it, and in the end, random vectors tell how far V is from orthonormal, and in the
// end X·V from G, which nothing else would notice. If V is too far, it is made orthonormal, G is formed anew,
// and the loop goes on.
//
// # Steps
//
// The method goes step by step (state.advance): a correction of V, the product X·V, a pass, the verification.
// Between two steps all that it has is X, V, G with its norms, and where it is (place). That is what a
// checkpoint gets (Hooks), and from which another run goes on with the same bits.
//
// # Memory
//
// X, G, V and three more at most: H, which becomes E and F, with E² and E⁴, with S and a copy, or with the
// product that is added to G or V. V is given up when G is formed, if it is not wanted. Corrections of V take
// one more than X and V. With clusters there are up to 3·256 columns more, and copies of G and V while a
// checkpoint is written. What is on its way comes to it (package matrix). No matrix comes to a host, but for
// the parts of clusters.
//
// # Symbols
//
//	X, U, V, D   state.x, u, v, norms
//	S            matrix.Departure, look.lack
//	H, E, F      look.h, one after the other
//
// The keys in brackets are those of docs/REFERENCES.md.
package refine
