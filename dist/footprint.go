package dist

import (
	"jmpi/dist/jacobi"
	"jmpi/kernels"
)

// Footprint is the memory that a decomposition takes. It is the one estimate that there is: `plan` prints it,
// a run is refused by it, and info.json has it next to what the run took.
type Footprint struct {
	Device int64 // bytes that each device allocates
	// bytes in the memory of all hosts together for the matrix, a tall one with the tree of its reduction
	Matrix int64
	Extra  int64 // bytes besides, at the worst moment
}

const (
	// CollectPercent is how much the Go heap may grow between two collections (GOGC). It holds few, large pieces
	// of matrices, whose collection costs next to nothing.
	CollectPercent = 15
	// rankBytes is what a rank takes whatever the matrix: the program, its libraries, and the buffers
	// of reading and writing.
	rankBytes = 64 << 20
)

// Host returns the bytes in the memory of one host. It has count of `of` equal shares of what the hosts
// hold, some ranks, and some devices, whose memory is that of the host or not.
func (f Footprint) Host(count, of, ranks, devices int, hostMemory bool) int64 {
	heap := float64(f.Matrix+f.Extra) * float64(count) / float64(of)
	bytes := int64(heap*(1+CollectPercent/100.)) + int64(ranks)*rankBytes
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
}

// copies returns how many copies of the matrix that the Jacobi method works on the hosts hold besides it. The
// numbers are what was measured.
func (w ways) copies() int64 {
	switch {
	case w.bySVD:
		return 8 // the SVD of a copy, its U and V, the symmetric matrix, its factor, and the vectors of that
	case w.deflated:
		return 7 // as with preconditioning, the null space, and the decompositions that tell its signs
	case w.precondition != NoPreconditioner:
		return 5 // rows sorted, reflectors, triangular factors, vectors before and after the reflectors
	case w.hyperbolic:
		return 2 // rows sorted, reflectors
	case w.v == FromLeft:
		return 3 // U, Aᵀ·U or its reflectors, V
	}
	return 0
}

// Estimate returns the memory that the task takes on so many devices if its matrix is not graded, and
// whatever the matrix is. What is left open counts with the most that it may need.
func (t Task) Estimate(devices int, limits kernels.Limits) (usual, most Footprint) {
	for _, graded := range []bool{false, true} {
		for _, w := range t.ways(graded, limits.HostMemory) {
			f := w.footprint(t, devices, limits)
			most = most.most(f)
			if !graded {
				usual = usual.most(f)
			}
		}
	}
	return usual, most
}

// ways returns what may be done to a matrix, which is graded or not, on devices whose memory is
// that of the hosts or not.
func (t Task) ways(graded, hostMemory bool) (all []ways) {
	w := ways{slabs: t.reducible() && !graded, vectors: t.needs().any(), hyperbolic: t.Signs != nil}
	preconditions := []Preconditioner{t.Precondition}
	if t.Precondition == AutoPreconditioner {
		switch {
		case w.hyperbolic:
			preconditions = []Preconditioner{NoPreconditioner, QR}
		case graded:
			preconditions = []Preconditioner{QRCPLQ}
		case w.slabs:
			preconditions = []Preconditioner{QR}
		default:
			preconditions = []Preconditioner{NoPreconditioner}
		}
	}
	for _, w.precondition = range preconditions {
		needed := t.needs().right
		if transposes(w.precondition, w.hyperbolic) {
			needed = t.needs().left
		}
		for _, w.v = range t.rightWays(needed, hostMemory) {
			all = append(all, w)
		}
	}
	if w.hyperbolic { // its rank may be lower
		w.deflated, w.precondition = true, QRCPLQ
		all = append(all, w)
	}
	return all
}

// rightWays returns how the right vectors of X, which are needed or not, may be found on devices whose memory
// is that of the hosts or not.
func (t Task) rightWays(needed, hostMemory bool) []RightVectors {
	switch {
	case t.Signs != nil:
		return []RightVectors{Accumulate}
	case !needed:
		return []RightVectors{noRight}
	case t.V != AutoRight:
		return []RightVectors{t.V}
	case !hostMemory:
		return []RightVectors{Accumulate}
	}
	return []RightVectors{FromLeft, Accumulate}
}

// footprint returns the memory of a decomposition on so many devices in all.
func (w ways) footprint(t Task, devices int, limits kernels.Limits) Footprint {
	if t.N == 0 {
		return Footprint{}
	}
	c := w.config(t)
	f := Footprint{Matrix: kernels.WordBytes * int64(t.M) * int64(t.N), Device: c.Demand(devices, limits)}
	if w.slabs {
		tree := f.Matrix / 2 // merges of 2n rows, one for each slab of at least 4n rows
		f.Matrix += tree
		if w.vectors {
			f.Extra = tree
		}
		f.Extra += kernels.WordBytes * int64(t.N) * int64(t.N)
	}
	f.Extra += w.copies() * kernels.WordBytes * int64(c.M) * int64(c.N)
	return f
}

// config returns what the Jacobi method is told, as far as its memory depends on it.
func (w ways) config(t Task) jacobi.Config {
	c := jacobi.Config{Problem: jacobi.Problem{M: t.M, N: t.N, Vectors: w.v == Accumulate}, Settings: t.Settings}
	if w.slabs {
		c.M = c.N
	}
	return c
}
