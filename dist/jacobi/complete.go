package jacobi

import (
	"slices"
	"sort"

	"jmpi/dist/matrix"
)

// tiny is the norm below which columns of G·V may not have been rotated (kernels.Backend, Jacobi, which
// leaves columns of 2⁻⁹⁹⁰ of the largest as they are), or have lost digits for being subnormal: their left
// singular vectors are made orthogonal at the end.
const tiny = 0x1p-560 // 2^top·2⁻⁹⁶⁰

// deficient tells whether some columns with these norms are zero or tiny.
func deficient(norm []float64) bool {
	return slices.ContainsFunc(norm, func(x float64) bool { return x < tiny })
}

// complete makes the columns of u orthonormal. Before, they are columns of G·V over their norms, from which
// they come in the order of Sigma; those that are neither zero nor tiny stay. The others are columns of Q in
// the QR factorization of those that stay, and then the tiny ones, the longest first. So a tiny column keeps
// what is orthogonal to the columns before it, and where that is nothing any other direction serves. It is
// collective.
func complete(u *matrix.Matrix, norm []float64) error {
	if !deficient(norm) {
		return nil
	}
	order := matrix.Decreasing(norm)
	stay := sort.Search(u.N, func(k int) bool { return norm[order[k]] < tiny })
	some := sort.Search(u.N, func(k int) bool { return norm[order[k]] == 0 })
	x, err := matrix.Select(u, order[:some])
	if err != nil {
		return err
	}
	defer x.Free()
	q, err := matrix.Factor(x)
	if err != nil {
		return err
	}
	defer q.Free()
	diagonal, err := x.Diagonal() // of R
	if err != nil {
		return err
	}
	x.Free() // memory
	signs := slices.Repeat([]float64{1}, u.N-stay)
	for k, e := range diagonal[stay:] {
		if e < 0 {
			signs[k] = -1
		}
	}
	rest, err := q.Form(stay, u.N-stay)
	if err != nil {
		return err
	}
	defer rest.Free()
	if err := rest.Scale(nil, signs); err != nil {
		return err
	}
	return matrix.Put(u, rest, order[stay:])
}
