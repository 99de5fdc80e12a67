package cuda

import (
	"fmt"
	"math"

	"jmpi/kernels"
)

const (
	singleTile        = 64  // TILE of single_tile.cuh
	singleGramThreads = 256 // GRAM_THREADS of single_gram.cu
	singleGramShared  = 192<<10 + singleAlign
	singleGramRows    = 128     // what numbers of rows are multiples of
	singleLeast       = 256     // rows of G, with which a Gram matrix goes to tensor cores
	singleGroups      = 2       // GROUPS of single_multiply.cu
	singleAlign       = 1024    // of what tensor cores read in shared memory
	singleBlock       = 64 * 64 // elements of a block of a Gram matrix
	singleRows        = 64      // of G that a group of threads multiplies
	singleParts       = 8       // most blocks that share the rows of one Gram matrix
)

// singleChunk is chunkRows for float32.
func singleChunk(m, k int) int {
	side := ceil(k, 128)
	parts := max(1, min(singleParts, m/singleGramRows/2, 64/(side*side)))
	if m >= 8192 {
		parts = min(parts, 6)
	}
	return max(1, ceil(ceil(m, parts), singleGramRows)) * singleGramRows
}

// singleGram forms the Gram matrices of a batch of float32. See single_gram.cu.
func (d *device) singleGram(s *batch) error {
	side, chunks, least := ceil(max(1, s.order), 128), 1, singleLeast
	if !d.wgmma() {
		least = math.MaxInt64
	}
	var plain, small, large bool
	for _, p := range s.problems {
		chunks = max(chunks, ceil(int(p.g.m), int(p.chunk)))
		plain = plain || int(p.g.m) < least
		small = small || int(p.g.m) >= least && p.k <= 64
		large = large || int(p.g.m) >= least && p.k > 64
	}
	sums := int64(s.n()) * int64(chunks) * int64(4*side*side) * 4 * singleBlock
	partial, err := d.need("Gram", sums+4*int64(s.n()))
	if err != nil {
		return err
	}
	words := []uint64{s.at, word(partial), uint64(side), uint64(chunks), uint64(least)}
	across := append(words, word(partial)+uint64(sums)) // whether a problem needs products of P with Q alone
	for _, k := range []struct {
		wanted             bool
		name               string
		x, threads, shared int
		words              []uint64
	}{
		{plain, "single_gram_plain", triangle(ceil(s.order, 64)), 256, 0, words},
		{small, "single_gram_small", 1, singleGramThreads, singleGramShared, words},
		{large, "single_gram_diagonal", side, singleGramThreads, singleGramShared, across},
		{large && side > 1, "single_gram_other", side * (side - 1), singleGramThreads, singleGramShared, words},
	} {
		if k.wanted {
			if err := d.launch(k.name, k.x, chunks, s.n(), k.threads, k.shared, k.words...); err != nil {
				return err
			}
		}
	}
	tiles := ceil(s.order, 32)
	if large && len(s.Grams) > 0 {
		tiles = max(tiles, 4) // where P and Q begin at 0 and at 64
	}
	return d.launch("single_gram_add", max(1, triangle(tiles)), s.n(), 1, 256, 0, across...)
}

// singleUpdate subtracts the products of rows j0 ≤ j < j1 of a factor of float32 from what is left of it, as
// Cholesky has it.
func (d *device) singleUpdate(s *batch, j0, j1 int) error {
	tiles := ceil(s.order-j1, singleTile)
	return d.launch("single_update", tiles, tiles, s.n(), 256, 0, s.at, uint64(j0), uint64(j1))
}

// triangle returns the number of blocks on and above the diagonal.
func triangle(side int) int { return side * (side + 1) / 2 }

// wgmma tells whether there are the products of wgmma.cuh.
func (d *device) wgmma() bool { return d.target == "sm_90a" && d.shared > singleGramShared && !d.plain }

// singleMatrices is how many matrices of a problem of float32 are multiplied.
func singleMatrices(s *batch) int {
	if len(s.V) > 0 {
		return 2
	}
	return 1
}

// singleOrder is the order of the images of W that single_multiply takes, 0 where it does not serve.
func (d *device) singleOrder(s *batch) int {
	switch {
	case s.order == 0 || s.order > 128 || !d.wgmma():
		return 0
	case s.order > 64:
		return 128
	}
	return 64
}

// singleImages is where they are, and how many bytes one has.
func (d *device) singleImages(s *batch, order int) (images kernels.Address, each int, err error) {
	each = (2*order*order + order) * 4
	images, err = d.need("weights", 2*int64(s.n())*int64(each))
	return images, each, err
}

// singleWeigh is weigh for a batch of float32, where single_multiply serves. Elsewhere the weights come with
// the products.
func (d *device) singleWeigh(s *batch) error {
	order := d.singleOrder(s)
	if order == 0 {
		return nil
	}
	images, _, err := d.singleImages(s, order)
	if err != nil {
		return err
	}
	return d.launch(fmt.Sprint("single_image_", order), order/8, s.n(), singleMatrices(s), 256, 0, s.at,
		word(images))
}

// singleMultiply forms the products of a batch of float32. See single_multiply.cu.
func (d *device) singleMultiply(s *batch) error {
	matrices, order := singleMatrices(s), d.singleOrder(s)
	switch {
	case s.order == 0:
		return nil
	case !d.wgmma():
		return d.singleProduct(s, matrices)
	case order == 0:
		return d.singleBlocks(s, matrices)
	}
	images, each, err := d.singleImages(s, order)
	if err != nil {
		return err
	}
	g, v := ceil(s.rows, singleRows), ceil(s.vRows, singleRows)
	for first := 0; first < s.n(); first += streamListed {
		count := min(streamListed, s.n()-first)
		if err := d.launch(fmt.Sprint("single_multiply_", order), max(1, d.productBlocks(s, count*(g+v))), 1, 1,
			128*singleGroups, singleMultiplyShared(order), s.at+uint64(first*problemBytes), uint64(count),
			word(images)+uint64(2*first*each), uint64(g), uint64(v)); err != nil {
			return err
		}
	}
	return nil
}

// singleMultiplyShared is the shared memory for an image of W of such an order, and for rows of eight warps.
func singleMultiplyShared(order int) int { return (2*order*order+order)*4 + 512*order + singleAlign }

// singleBlocks is singleMultiply for orders above 128: by blocks of 128 columns, from copies of rows.
func (d *device) singleBlocks(s *batch, matrices int) error {
	const image = (2*128*128 + 128) * 4
	side := ceil(s.order, 128)
	images, err := d.need("weights", int64(s.n())*int64(side*image))
	if err != nil {
		return err
	}
	return d.singleCopies(s, matrices, func(v, first, count int, work kernels.Address) error {
		for j := range side {
			if err := d.launch("single_image_blocks", 16*side, s.n(), 1, 256, 0, s.at, word(images), uint64(side),
				uint64(v), uint64(j)); err != nil {
				return err
			}
			for n := range side {
				i := n // j first, then the others
				if n == 0 {
					i = j
				} else if n <= j {
					i--
				}
				if err := d.singleBlock(s, images, work, image*side, v, first, count, i, j); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// singleBlock multiplies block i of copies of rows by block (i,j) of W. each: bytes of the images
// of a problem.
func (d *device) singleBlock(s *batch, images, work kernels.Address, each, v, first, count, i, j int) error {
	for at := 0; at < s.n(); at += streamListed {
		n := min(streamListed, s.n()-at)
		err := d.launch("single_multiply_block", min(d.processors, n*(count/singleRows)), 1, 1,
			128*singleGroups, singleMultiplyShared(128), s.at+uint64(at*problemBytes), uint64(n),
			word(images)+uint64(at*each), word(work)+uint64(4*at*s.order*count), uint64(s.order), uint64(v),
			uint64(first), uint64(count), uint64(i), uint64(j))
		if err != nil {
			return err
		}
	}
	return nil
}

// singleCopies copies rows of G, and then of V, and calls f, some rows after the other. Then it
// replaces norms.
func (d *device) singleCopies(s *batch, matrices int,
	f func(v, first, count int, work kernels.Address) error) error {
	for v, rows := range []int{s.rows, s.vRows}[:matrices] {
		row := int64(s.n()) * int64(s.order) * 4
		count := min(ceil(max(1, rows), singleRows), max(1, int(largeBytes/row/singleRows))) * singleRows
		work, err := d.need("copies of rows", int64(count)*row)
		if err != nil {
			return err
		}
		for first := 0; first < rows; first += count {
			if err := d.launch("single_copy", s.order, s.n(), 1, 256, 0, s.at, uint64(s.order), uint64(v),
				uint64(first), uint64(count), word(work)); err != nil {
				return err
			}
			if err := f(v, first, count, work); err != nil {
				return err
			}
		}
	}
	return d.launch("single_norms", s.n(), 1, 1, 256, 0, s.at)
}

// singleProduct is singleMultiply without tensor cores, for any order: from copies of rows.
func (d *device) singleProduct(s *batch, matrices int) error {
	order := int64(s.order)
	weights, err := d.need("weights", int64(s.n())*order*(order+1)*4)
	if err != nil {
		return err
	}
	return d.singleCopies(s, matrices, func(v, first, count int, work kernels.Address) error {
		if first == 0 {
			if err := d.launch("single_weights", ceil(s.order, 8), s.n(), 1, 256, 0, s.at, word(weights),
				uint64(order), uint64(v)); err != nil {
				return err
			}
		}
		return d.launch("single_product", count/singleRows, s.n(), ceil(s.order, singleRows), 256, 0, s.at,
			uint64(order), uint64(v), uint64(first), uint64(count), word(work), word(weights))
	})
}
