// Package strategy makes parallel pivot strategies: tables that say which pairs of columns, or of
// block-columns, a Jacobi method makes orthogonal in which order. It is integers only.
//
// The source is [Nov15]: V. Novaković, A hierarchically blocked Jacobi SVD algorithm for single and multiple
// graphics processing units, SIAM J. Sci. Comput. 37 (2015), §3.
//
// # What a strategy is
//
// A sweep of the Jacobi method for n columns meets every pair (p,q), 1 ≤ p < q ≤ n, once (cyclic) or at
// least once (quasi-cyclic). Pairs without a common index can be worked on at the same time: a parallel
// step, p-step, holds t = ⌊n/2⌋ disjoint pairs, and s p-steps make a sweep, s = n−1 for even n and n for odd
// n, [Nov15, (3.1)]. Such a p-strategy is a 1-factorization of the complete graph with n vertices: each
// p-step is a perfect matching.
//
//	[Nov15]                   here
//	(p,q), 1-based            Pair{P, Q}, 0-based; 1-based in print
//	n                         Table.N
//	S_n^(i), the i-th p-step  Table.Steps[i-1]
//	τ = n(n−1)/2              the number of pairs of a cyclic table
//	𝒪_n = ℛ_n, 𝒞_n            sequence: rowCyclic, columnCyclic
//	𝖦, gen_strat, next_lex    remaining, its methods generate and candidates
//	𝒪∥ (closest, Alg. 3.1)    rowcyc, colcyc
//	𝒪̃∥ (expanded, Alg. 3.2)   rowcyc-expanded, colcyc-expanded; Table.Expand
//	mirrored 𝒪 (reverse)      rev-…; Table.Reverse
//
// # Closest strategies, Alg. 3.1
//
// A sequential strategy 𝒪 ranks the pairs 1 … τ. Of two strategies the one whose sequence of ranks
// is lexicographically smaller is closer to 𝒪 (Def. 3.1); exactly one p-strategy is closest. It is
// found by backtracking:
//
//  1. If no pair remains, done.
//  2. Of the graph of the remaining pairs, take the lexicographically next perfect matching as the next
//     p-step; if there is none, go back to the p-step before.
//  3. Remove its pairs and go on with 1.
//
// Literally done this is too slow at n = 30. Three observations, none of which changes the result,
// make it quick:
//
//   - In step 2 a pair is accepted only if a perfect matching contains it together with those accepted
//     before. One perfect matching is kept all the time, so the test is the search of one alternating path
//     (Edmonds' blossom algorithm).
//   - A graph with a component of odd order has no perfect matching: go back at once.
//   - p-steps may be permuted, so the next p-step must hold the first remaining pair or there is no
//     solution at all.
//
// For n = 2^k there is a closed form: in p-step j the 0-based indices i and i⊕j meet.
//
// # Expansion, Alg. 3.2
//
// A matrix of order 2n is a matrix of order n of 2×2 blocks. After a first p-step inside the diagonal blocks
// every p-step of the strategy of order n becomes two, by the corners of the blocks: (NW, SE), then (NE, SW),
// or (SW, NE) for 𝒞. The result is the closest among the block strategies. It is not always the closest of
// all, as [Nov15] conjectured: for ℛ it differs first at 2n = 52, in p-step 46, where Alg. 3.1 takes (13,23)
// and the expansion (13,25). So closest and expanded are two names. An expanded strategy of order 2^k·o, o
// odd, starts from the closest one of order 2o.
//
// # Reverse
//
// ℛ and 𝒞 work from the diagonal outwards. Their reverses work inwards, far pairs first, and take fewer
// sweeps. For n = 2^k they are step-equivalent to each other and, after the relabelling i → i⊕⌊i/2⌋, to the
// BR strategy of Mantharam and Eberlein.
//
// # The others
//
// br, brentluk, mmstep (modified modulus) and roundrobin are the known strategies to compare with; each is
// described at its function.
package strategy
