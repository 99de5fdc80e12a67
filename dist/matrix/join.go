package matrix

import "jmpi/kernels"

// Together returns how many reflectors of a QR factorization without pivoting are applied together on devices
// of these limits: on hosts those of a panel, on GPUs those of a block, by products of large matrices.
func Together(limits kernels.Limits) int {
	if limits.HostMemory {
		return kernels.PanelWidth
	}
	return max(kernels.PanelWidth, limits.Tile)
}

// diagonalPart returns reflectors at ≤ j < to by themselves, which leave the rows above as they are.
func diagonalPart(q kernels.Reflectors, at, to int) kernels.Reflectors {
	return kernels.Reflectors{Y: q.Y.Columns(at, to).Rows(at, q.Y.M), T: q.T.Columns(at, to).Rows(at, to)}
}

// join completes T of the reflectors of several panels, of which there are so many each: those of the panels
// lie on its diagonal. Above each is −T·(YᵀY)·T.
func (dev *device) join(room *buffer, q kernels.Reflectors, counts []int) error {
	if len(counts) < 2 {
		return nil
	}
	n := q.Y.N
	p, err := room.need(dev, n, 2*n)
	if err != nil {
		return err
	}
	gram, half := p.Columns(0, n), p.Columns(n, 2*n)
	products := []kernels.Gemm{{TransA: true, Alpha: 1, A: q.Y, B: q.Y, C: gram}}
	at := counts[0]
	for _, count := range counts[1:] {
		to := at + count
		above := func(p kernels.Panel) kernels.Panel { return p.Columns(at, to).Rows(0, at) }
		products = append(products,
			kernels.Gemm{Alpha: 1, A: q.T.Columns(0, at).Rows(0, at), B: above(gram), C: above(half)},
			kernels.Gemm{Alpha: -1, A: above(half), B: diagonalPart(q, at, to).T, C: above(q.T)})
		at = to
	}
	return dev.Gemm(products)
}
