package dist

import (
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
	// bytes in the memory of all hosts together for the matrix, a tall one with the tree of its reduction;
	// none where the devices have memory of their own
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
	reread       bool // the matrix that was measured is given up, and read again for the Jacobi method
}

// copies returns how many copies there are of the matrix that the Jacobi method works on, besides that matrix
// itself, at the worst moment. They lie where it lies. The numbers are what was measured.
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
	case w.reread:
		return 0
	}
	return 1 // the matrix, in case the method has to start again
}

// Estimate returns the memory that the task takes on so many devices if its matrix is not graded, and
// whatever the matrix is. What is left open counts with the most that it may need.
func (t Task) Estimate(devices int, limits kernels.Limits) (usual, most Footprint) {
	for _, graded := range []bool{false, true} {
		for _, w := range t.ways(graded) {
			f := w.footprint(t, devices, limits)
			most = most.most(f)
			if !graded {
				usual = usual.most(f)
			}
		}
	}
	return usual, most
}

// ways returns what may be done to a matrix, which is graded or not.
func (t Task) ways(graded bool) (all []ways) {
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
		for _, w.v = range t.rightWays(needed) {
			all = append(all, w)
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
	case t.Signs != nil:
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
	c := w.config(t)
	f := Footprint{Device: c.Demand(devices, limits)}
	x := kernels.WordBytes * int64(c.M) * int64(c.N) // what the method works on
	if limits.HostMemory {
		f.Matrix, f.Extra = kernels.WordBytes*int64(t.M)*int64(t.N), w.copies()*x
		if w.slabs {
			tree := f.Matrix / 2 // merges of 2n rows, one for each slab of at least 4n rows
			f.Matrix += tree
			f.Extra += x
			if w.vectors {
				f.Extra += tree
			}
		}
		return f
	}
	if w.reread {
		f.Device = max(f.Device, share(x, devices, limits, c))
	} else {
		f.Device += share((1+w.copies())*x, devices, limits, c)
	}
	if w.slabs {
		slabs, work, moving := matrix.SlabBytes(t.M, t.N, devices, limits)
		f.Device += slabs + work
		f.Extra = moving * int64(devices) // on its way from the file or to it
	}
	return f
}

// share returns the bytes that one device has of matrices of so many bytes. One device may have a block of
// columns more than another.
func share(bytes int64, devices int, limits kernels.Limits, c jacobi.Config) int64 {
	if devices == 1 {
		return bytes
	}
	return bytes/int64(devices) + kernels.WordBytes*int64(c.M)*int64(min(limits.Tile, c.N))
}

// config returns what the Jacobi method is told, as far as its memory depends on it.
func (w ways) config(t Task) jacobi.Config {
	c := jacobi.Config{Problem: jacobi.Problem{M: t.M, N: t.N, Vectors: w.v == Accumulate}, Settings: t.Settings}
	if w.slabs {
		c.M = c.N
	}
	return c
}
