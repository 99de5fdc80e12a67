package dist

import (
	"math"

	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// Footprint is the memory that a decomposition takes. It is the one estimate that there is: `plan` prints it,
// a run is refused by it, and info.json has it next to what the run took.
type Footprint struct {
	// bytes that each device allocates: for block-columns and factors, and for matrices if its memory is not
	// that of the host
	Device int64
	// bytes in the memory of all hosts together for the matrix; none where the devices have memory of their own
	Matrix int64
	Extra  int64 // bytes in the same memory besides, at the worst moment
}

// rankBytes is what a rank takes whatever the matrix: the program, its libraries, and the buffers
// of reading and writing.
const rankBytes = 64 << 20

// Host returns the bytes in the memory of one host. It has count of `of` equal shares of what the hosts
// hold, some ranks, and some devices, whose memory is that of the host or not.
func (f Footprint) Host(count, of, ranks, devices int, hostMemory bool) int64 {
	matrices := float64(f.Matrix+f.Extra) * float64(count) / float64(of)
	bytes := int64(matrices) + int64(ranks)*rankBytes
	if hostMemory {
		bytes += int64(devices) * f.Device
	}
	return bytes
}

// most returns the larger of each.
func (f Footprint) most(g Footprint) Footprint {
	return Footprint{max(f.Device, g.Device), max(f.Matrix, g.Matrix), max(f.Extra, g.Extra)}
}

// ways are the choices of a decomposition that decide how much memory it takes.
type ways struct {
	slabs        bool // a tall matrix is reduced by slabs of its rows
	vectors      bool // some are wanted
	precondition Preconditioner
	v            RightVectors
	hyperbolic   bool
	deflated     bool // hyperbolic and of lower rank
	bySVD        bool // hyperbolic, by way of the SVD
	reflectors   bool // with slabs: they are reduced by reflectors, not by their Gram matrix
	ladder       bool // the first sweeps are in float32
	reread       bool // the matrix that was measured is given up, and read again for the Jacobi method
	aside        bool // a copy of what a checkpoint gets lies aside while it is written
}

// matrices returns how many numbers matrices have, at the worst moment, while the block-columns of the Jacobi
// method are on the devices, and while they are not. They lie where the matrix lies that the method works on,
// which has m rows and n columns and is one of them, on devices of these limits. What a hyperbolic SVD takes
// was measured.
func (w ways) matrices(m, n int64, limits kernels.Limits) (during, outside int64) {
	x, square := m*n, n*n
	switch {
	case w.ladder:
		return w.refined(m, n, limits)
	case w.bySVD:
		return 9 * x, 0 // the SVD of a copy, its U and V, the symmetric matrix, its factor, the vectors of that
	case w.deflated:
		return 8 * x, 0 // as with preconditioning, the null space, and the decompositions that tell its signs
	case w.hyperbolic && w.precondition != NoPreconditioner:
		return 6 * x, 0 // rows sorted, reflectors, triangular factors, vectors before and after the reflectors
	case w.hyperbolic:
		return 3 * x, 0 // rows sorted, reflectors
	case w.precondition != NoPreconditioner:
		return w.preconditioned(m, n, limits)
	case w.v == FromLeft: // X and U; then Aᵀ·U and its reflectors, or these and V
		return 2 * x, 2*x + square + right(n, limits)
	case w.reread:
		return 0, x
	}
	return x, x // in case the method has to start again
}

// preconditioned is matrices where there are triangular factors.
func (w ways) preconditioned(m, n int64, limits kernels.Limits) (during, outside int64) {
	x, square := m*n, n*n
	left, right := w.left(m, n), right(n, limits)
	outside = x + square + left // R is transposed
	if w.precondition != QR {
		outside = max(outside, 2*x) // rows are sorted
	}
	if w.vectors { // X is its triangular factor, U and V; U before and after the reflectors; rows are sorted
		outside = max(outside, x+2*square+left, 2*x+square)
	}
	switch { // X goes when the block-columns are made, and U and V come from them
	case w.v == FromLeft: // X or R is kept; Rᵀ·U, its reflectors
		return 2*square + left, max(outside, 3*square+left+right)
	case w.precondition == QRCPLQ:
		if outside = max(outside, 2*square+left+right); w.v == Accumulate {
			left += right
		}
	}
	during = square
	if w.vectors { // for which the reflectors are kept
		during += left
	}
	if w.v == Accumulate {
		during += square
	}
	return during, outside
}

// refined is matrices where the first sweeps are in float32: X and its transpose; X, U, V and refineMatrices
// while they are refined, and copies of U and V that are being written to a checkpoint, then or later.
func (w ways) refined(m, n int64, limits kernels.Limits) (during, outside int64) {
	square := m * n
	var kept int64 // for U and V of A
	if w.precondition != NoPreconditioner {
		kept = w.left(m, n)
	}
	_, outside = w.preconditioned(m, n, limits)
	if w.precondition == QRCPLQ || w.precondition == QRLQ {
		kept += right(n, limits)
	}
	refining := (3+refineMatrices)*square + kept
	switch {
	case limits.HostMemory:
		refining += square / 2 // sums in float32
	case w.v == noRight: // V is given up when G is formed
		refining -= square
	}
	if outside = max(outside, refining); w.aside {
		outside += 2 * square
	}
	return 2*square + kept, outside
}

// refineMatrices is how many square matrices package refine takes besides X, U and V.
const refineMatrices = 3

// left returns how many numbers the reflectors of the pivoted factorization have.
func (w ways) left(m, n int64) int64 {
	left := reflectors(m, n, kernels.PivotedWidth)
	if w.precondition != QR { // the columns are graded: many panels end early
		left *= 2
	}
	return left
}

// right returns how many numbers those of the factorization of an n×n matrix without pivoting have.
func right(n int64, limits kernels.Limits) int64 {
	return reflectors(n, n, int64(matrix.Together(limits, int(n))))
}

// corrected is what there is, on hosts, while V from U is corrected: X or R, U, V and a square matrix.
func (w ways) corrected(m, n int64) int64 {
	if w.precondition == NoPreconditioner {
		return 2*m*n + 2*n*n
	}
	return 4*n*n + w.left(m, n)
}

// reflectors returns how many numbers the reflectors of an m×n matrix have, with their triangles, if so many
// columns make a panel. Memory is taken for 16 panels at a time, or half of those that follow, each of the
// size of the first of them.
func reflectors(m, n, width int64) int64 { return n*m - n*n/2 + n*(min(n, width)+min(n/6, 8*width)) }

// Estimate returns the memory that the task takes on so many devices if its matrix is not graded, and
// whatever the matrix is. What is left open counts with the most that it may need.
func (t Task) Estimate(devices int, limits kernels.Limits) (usual, most Footprint) {
	for _, graded := range []bool{false, true} {
		for _, w := range t.ways(graded, limits) {
			f := w.footprint(t, devices, limits)
			w.reflectors = w.slabs // columns may be nearly dependent
			most = most.most(f).most(w.footprint(t, devices, limits))
			if !graded {
				usual = usual.most(f)
			}
		}
	}
	return usual, most
}

// Least returns the bytes without which a device refuses the task, if its matrix is not graded: where memory
// is short, V is carried and the matrix is read again.
func (t Task) Least(devices int, limits kernels.Limits) int64 {
	least := int64(math.MaxInt64)
	for _, w := range t.ways(false, limits) {
		w.reread = w.precondition == NoPreconditioner && !w.hyperbolic && !w.slabs && w.v != FromLeft
		least = min(least, w.footprint(t, devices, limits).Device)
	}
	return least
}

// ways returns what may be done on devices of these limits to a matrix, which is graded or not.
func (t Task) ways(graded bool, limits kernels.Limits) (all []ways) {
	low := t.Low(limits)
	w := ways{slabs: t.reducible() && !graded, vectors: t.needs().any(), hyperbolic: Mixed(t.Signs),
		aside: t.Aside}
	preconditions := []Preconditioner{t.Precondition}
	if t.Precondition == AutoPreconditioner {
		switch {
		case w.hyperbolic:
			preconditions = []Preconditioner{NoPreconditioner, QR}
		case graded:
			preconditions = []Preconditioner{QRCPLQ, QRLQ}
		case w.slabs:
			preconditions = []Preconditioner{QR}
		case low && t.M > t.N:
			preconditions = []Preconditioner{QRLQ}
		default:
			preconditions = []Preconditioner{NoPreconditioner}
		}
	}
	for _, w.precondition = range preconditions {
		needed := t.needs().Right
		switch {
		case graded && w.precondition == QRLQ: // the transpose may be factored
			needed = t.needs().any()
		case transposes(w.precondition, w.hyperbolic):
			needed = t.needs().Left
		}
		for _, w.v = range t.rightWays(needed) {
			all = append(all, w)
			if low {
				l := w
				l.ladder = true
				all = append(all, l)
			}
		}
	}
	if w.hyperbolic { // its rank may be lower
		w.deflated, w.precondition = true, QRCPLQ
		all = append(all, w)
	}
	return all
}

// rightWays returns how the right vectors of X, which are needed or not, may be found.
func (t Task) rightWays(needed bool) []RightVectors {
	switch {
	case Mixed(t.Signs):
		return []RightVectors{Accumulate}
	case !needed:
		return []RightVectors{noRight}
	case t.V != AutoRight:
		return []RightVectors{t.V}
	}
	return []RightVectors{FromLeft, Accumulate}
}

// footprint returns the memory of a decomposition on so many devices in all.
func (w ways) footprint(t Task, devices int, limits kernels.Limits) Footprint {
	if t.N == 0 {
		return Footprint{}
	}
	if w.ladder { // sweeps in float64 may have to finish it
		finish := w
		if finish.ladder = false; w.v != noRight {
			finish.v = Accumulate
		}
		return w.phase(t, devices, limits).most(finish.phase(t, devices, limits))
	}
	return w.phase(t, devices, limits)
}

// phase is footprint where all sweeps are in one precision.
func (w ways) phase(t Task, devices int, limits kernels.Limits) Footprint {
	c := w.config(t)
	f := Footprint{Device: c.Demand(devices, limits)}
	during, outside := w.bytes(c, devices, limits)
	if w.aside {
		copied := w.copied(c, devices, limits)
		switch f.Device += copied; {
		case w.ladder: // copies of U and V take their place
		case limits.HostMemory: // outside is for all of them
			outside += copied * int64(devices)
		default:
			outside += copied
		}
	}
	if limits.HostMemory {
		f.Matrix = kernels.WordBytes * int64(t.M) * int64(t.N)
		f.Extra = max(during, outside-f.Device*int64(devices))
		if !w.slabs {
			f.Extra = max(0, f.Extra-f.Matrix) // it is one of them
			return f
		}
		_, one, tree := matrix.SlabBytes(t.M, t.N, 1, limits)
		if f.Extra += one; w.reflectors {
			f.Extra += tree
		}
		return f
	}
	f.Device = max(f.Device+during, outside)
	if w.slabs {
		slabs, one, tree := matrix.SlabBytes(t.M, t.N, devices, limits)
		f.Device += slabs + one + min(limits.Scratch, slabScratch)
		if w.reflectors {
			f.Device += tree
		}
	}
	f.Device += limits.Workspace
	return f
}

// copied is what a device has for checkpoints: a copy of the state, and X, which stays until it is written.
func (w ways) copied(c jacobi.Config, devices int, limits kernels.Limits) int64 {
	bytes := c.StateBytes(devices, limits)
	if w.precondition != NoPreconditioner {
		bytes += share(int64(c.M)*int64(c.N), c, devices, limits)
	}
	return bytes
}

// What primitives have as scratch, up to a limit: those of the Jacobi method for each column of a device,
// with both lanes at the most that they have had; the others for each column and, for sums over the rows,
// each element that a device has; the reduction of slabs.
const jacobiScratch, denseScratch, elementScratch, slabScratch = 9 << 10, 6 << 10, 1.5, 40 << 20

// bytes is matrices for what one device has, with what is on its way and with scratch, or for what all have
// where the memory is that of the hosts.
func (w ways) bytes(c jacobi.Config, devices int, limits kernels.Limits) (during, outside int64) {
	m, n := aligned(c.M, limits), int64(c.N)
	during, outside = w.matrices(m, n, limits)
	if limits.HostMemory {
		if w.v == FromLeft {
			outside = max(outside, w.corrected(m, n))
		}
		return kernels.WordBytes * during, kernels.WordBytes * outside
	}
	panel, way := kernels.WordBytes*m*kernels.PanelWidth, w.flying(m, c.N, devices, limits)
	if w.precondition != NoPreconditioner && w.precondition != QRLQ { // R of a pivoted panel
		panel += kernels.WordBytes * kernels.PanelWidth * kernels.PanelWidth
	}
	scratch := [2]int64{jacobiScratch * n / int64(devices),
		denseScratch*n + int64(elementScratch*float64(m*n)/float64(devices))}
	switch {
	case w.precondition != NoPreconditioner:
		scratch[0] = scratch[1]
	case !w.ladder && w.v != FromLeft:
		panel, scratch[1] = 0, 0
	}
	return share(during, c, devices, limits) + panel + way[0] + min(limits.Scratch, scratch[0]),
		share(outside, c, devices, limits) + panel + way[1] + min(limits.Scratch, scratch[1])
}

// flying returns the bytes that a device has for what is on its way, during and outside of the sweeps: blocks
// that are transposed, or the columns that products show. With several devices two of these arrive in turn,
// and two blocks leave.
func (w ways) flying(m int64, n, devices int, limits kernels.Limits) (way [2]int64) {
	block := kernels.WordBytes * m * int64(min(limits.Tile, n))
	shown := kernels.WordBytes * m * int64(min(matrix.PassColumns(limits), n))
	switch {
	case devices > 1 && !w.reread:
		way = [2]int64{4 * block, 4 * block}
		if w.ladder || w.hyperbolic || w.v == FromLeft {
			way[1] = 2*block + 2*shown
		}
	case w.ladder:
		way = [2]int64{block, shown} // of which a product makes a copy
	case w.precondition != NoPreconditioner:
		way = [2]int64{block, block}
	}
	return way
}

// aligned returns a number of rows as panels of a device have them.
func aligned(m int, limits kernels.Limits) int64 {
	if limits.HostMemory {
		return int64(m)
	}
	return int64((m + limits.Align - 1) / limits.Align * limits.Align)
}

// share returns the bytes that one device may have of matrices of so many numbers. It may have a block of
// columns more than another.
func share(numbers int64, c jacobi.Config, devices int, limits kernels.Limits) int64 {
	tile := min(limits.Tile, c.N)
	blocks := (c.N + tile - 1) / tile
	own := min(c.N, (blocks+devices-1)/devices*tile)
	return int64(float64(kernels.WordBytes*numbers) * float64(own) / float64(c.N))
}

// config returns what the Jacobi method is told, as far as its memory depends on it.
func (w ways) config(t Task) jacobi.Config {
	c := jacobi.Config{Problem: jacobi.Problem{M: t.M, N: t.N, Vectors: w.v == Accumulate}, Settings: t.Settings}
	if w.slabs || w.ladder {
		c.M = c.N
	}
	if w.ladder {
		c.Precision, c.Cosine = kernels.Float32, lowCosine
	}
	return c
}
