package matrix

import "jmpi/kernels"

// joinedRows is the number of rows from which on reflectors of several panels are applied together. Q is a
// little less orthogonal then: UᵀU − I of a geometric matrix of order 512 is 0.50·n·ε in place of 0.33·n·ε.
// Small matrices gain little time.
const joinedRows = 1024

// Together returns how many reflectors of a QR factorization without pivoting, of a matrix of so many rows,
// are applied together on devices of these limits: on hosts those of a panel, on GPUs those of a block, by
// products of large matrices.
func Together(limits kernels.Limits, rows int) int {
	if limits.HostMemory || rows < joinedRows {
		return kernels.PanelWidth
	}
	return max(kernels.PanelWidth, limits.Tile)
}

// diagonalPart returns reflectors at ≤ j < to by themselves, which leave the rows above as they are.
func diagonalPart(q kernels.Reflectors, at, to int) kernels.Reflectors {
	return kernels.Reflectors{Y: q.Y.Columns(at, to).Rows(at, q.Y.M), T: q.T.Columns(at, to).Rows(at, to)}
}
