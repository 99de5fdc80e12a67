// Package topology maps the pivot pairs of an outer strategy to devices, and plans the exchange of
// macro block-columns between them ([Nov15, §5]).
//
// # The problem
//
// There are g devices and 2·g macro block-columns. In each p-step of the outer strategy every device works on
// one pivot pair, both of whose columns it holds. Then it sends one of the two to some device and receives
// another, "according to a block-column mapping … such that the communication rules implied by the mapping
// are (nearly) optimal for the given network topology" [Nov15, §5]. This package chooses the mapping.
//
//	[Nov15]           here
//	g                 number of pairs in a p-step; slots
//	S''_{2g}          *strategy.Table of order 2·g
//	fast, slow (F, S) level 0, level > 0 of a Network
//	mapping           Step.Device
//	exchange          Step.Moves
//
// # Why one column can always stay
//
// Two consecutive p-steps are perfect matchings of the columns. Their union is a set of even cycles, and
// along a cycle of length 2k the k old pairs (devices) and the k new ones alternate. If every device goes to
// the next new pair along the cycle, each keeps one column; the same holds if every device goes to the
// previous one. These are the only ways, so a cycle has two choices, it turns or not. For both the same
// devices exchange columns: the cost of a phase follows from the map before it, the choice decides the map
// after it. A cycle of length 2 is a pair that comes twice (modified modulus): nothing moves.
//
// # What is minimised
//
// A phase is the exchange between two consecutive p-steps; a sweep has as many as it has p-steps, the
// wrap into the next sweep included. A move is slow if it crosses an innermost group, a phase is slow if
// one of its moves is. See Objective. By default the start is free and the map need not come back: for
// g = 4 in two nodes 3.5 of the 7 phases of reverse R_8 are slow on the average of 12 sweeps, 4 if the
// map must repeat every sweep (3 fast ones, as [Nov15, §5] says). Devices of one group need no
// distinction: what repeats is the map from pairs to groups, since the map to devices cannot always (for
// three nodes of two no 11 phases lead back).
//
// # How
//
//  1. The transitions between p-steps, with their cycles (exchange.go).
//  2. A state is the innermost group of each pair, up to renaming of like groups (tree.go): 105 states for 8
//     devices in 4 groups, 35 in 2.
//  3. If all states can be visited, dynamic programming over the sweeps gives the optimum (graph.go); for
//     a map that repeats, a search through states that are not renamed, bounded by what that optimum
//     still costs (periodic.go).
//  4. Otherwise the same with only those choices that respect the symmetry of the strategy
//     (decide.go). That is the linear search over GF(2) for orders 2^k, and its generalization to
//     expansions of small strategies.
//  5. Where even that is too large, beams (beam.go).
//
// Everything is deterministic: limits count steps, not time.
package topology
