package cuda

import (
	"slices"

	"jmpi/kernels"
)

const (
	pad         = 4  // PAD of tile.cuh
	productRows = 64 // ROWS of product.cuh

	gramRows  = 256 // fewest rows of G that are worth a block of their own
	gramParts = 8   // most blocks that share the rows of one tile
	gramUnit  = 32  // what numbers of rows are multiples of
	gramTiles = 256 // so many tiles need no more
)

// Purpose of gram.cu.
const (
	purposePivot = iota
	purposeUpdate
	purposeSides

	knownWidth = 64   // KNOWN_WIDTH of known.cuh
	knownRows  = 4096 // of a pivot of float64 from which it pays to keep what is known
)

func ceil(n, by int) int { return (n + by - 1) / by }

// chunkRows returns the number of rows of an m×k pivot that are summed by themselves. It depends on nothing
// else, so that the result does not depend on what is in the batch.
func chunkRows(m, k int) int {
	side := ceil(k, pointwiseOrder)
	parts := max(1, min(gramParts, m/gramRows, gramTiles/max(1, side*(side+1)/2)))
	return max(1, ceil(ceil(m, parts), gramUnit)) * gramUnit
}

// keeps tells whether what is known of the Gram matrix of a pivot is kept: where it is worth it, depending on
// nothing but the pivot.
func keeps(p kernels.Pivot, e kernels.Element) bool {
	return e == kernels.Float32 || p.P.M >= knownRows && p.Order() > knownWidth && p.P.N <= knownWidth &&
		p.Q.N <= knownWidth
}

func (d *device) Gram(b *kernels.Batch) error {
	return d.primitive("Gram", b, kernels.Needs{G: true, R: true}, false, func(s *batch) error {
		if s.Single != nil {
			return d.singleGram(s)
		}
		chunks := 1
		for _, p := range s.problems {
			chunks = max(chunks, ceil(int(p.g.m), int(p.chunk)))
		}
		purpose := purposePivot
		if kept := func(p problem) bool { return p.gramP != 0 }; !s.Afresh && s.order <= 2*knownWidth &&
			slices.ContainsFunc(s.problems, kept) {
			purpose = purposeSides
		}
		return d.gram(s, gramCall{purpose: purpose, order: s.order, chunks: chunks})
	})
}

// gramCall says what the Gram kernels form.
type gramCall struct {
	purpose int
	order   int // most columns
	chunks  int // of rows, the most
	j0, j1  int // purposeUpdate
}

// gram forms Gram matrices by tiles of 64 or 128 columns, the larger where there are so many and
// they fit into shared memory.
func (d *device) gram(s *batch, c gramCall) error {
	shared := func(tile, sets int) int {
		return d.tiling.stages * sets * tile * (d.tiling.gramChunk + pad) * kernels.WordBytes
	}
	tile, suffix, diagonal, other := 64, "64", 96, 128
	sides := c.purpose == purposeSides
	if !sides && c.order > 64 && shared(128, 2) < d.shared {
		tile, suffix, diagonal, other = 128, "128", 320, 512
	}
	side := ceil(c.order, tile)
	tiles := side * (side + 1) / 2
	partial, err := d.need("Gram", int64(s.n())*int64(tiles)*int64(c.chunks)*int64(tile*tile)*kernels.WordBytes)
	if err != nil {
		return err
	}
	words := []uint64{s.at, word(partial), uint64(tiles), uint64(c.chunks), uint64(c.purpose), uint64(c.j0),
		uint64(c.j1)}
	blocks := ceil(c.order, 32)
	if sides {
		err, blocks = d.launch("gram_sides", 3, c.chunks, s.n(), other, shared(tile, 2), words...), 2*knownWidth/32
	} else if err = d.launch("gram_diagonal_"+suffix, side, c.chunks, s.n(), diagonal, shared(tile, 1),
		words...); err == nil {
		err = d.launch("gram_other_"+suffix, side*(side-1)/2, c.chunks, s.n(), other, shared(tile, 2), words...)
	}
	if err != nil {
		return err
	}
	return d.launch("gram_add_"+suffix, blocks*(blocks+1)/2, s.n(), 1, 256, 0, words...)
}
