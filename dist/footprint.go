package dist

import (
	"slices"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// Footprint is the memory that a decomposition takes. It is the one estimate that there is: `plan` prints it, a run is refused by it, and
// info.json has it beside what the run took.
type Footprint struct {
	Device int64 // bytes that each device allocates
	Matrix int64 // bytes in the memory of all hosts together for the matrix, a tall one with the tree of its reduction
	Beside int64 // bytes beside it, at the worst moment
}

const (
	// CollectPercent is how much the Go heap may grow between two collections (GOGC). It holds few, large pieces of
	// matrices, whose collection costs next to nothing.
	CollectPercent = 15
	// rankBytes is what a rank takes whatever the matrix: the program, its libraries, and the buffers of reading and writing.
	rankBytes = 64 << 20
)

// Host returns the bytes in the memory of one host. It has a part of what the hosts hold, part/of, some ranks, and some devices,
// whose memory is that of the host or not.
func (f Footprint) Host(part, of, ranks, devices int, hostMemory bool) int64 {
	heap := float64(f.Matrix+f.Beside) * float64(part) / float64(of)
	bytes := int64(heap*(1+CollectPercent/100.)) + int64(ranks)*rankBytes
	if hostMemory {
		bytes += int64(devices) * f.Device
	}
	return bytes
}

// most returns the larger of each.
func (f Footprint) most(g Footprint) Footprint {
	return Footprint{max(f.Device, g.Device), max(f.Matrix, g.Matrix), max(f.Beside, g.Beside)}
}

// ways are the choices of a decomposition that decide how much memory it takes.
type ways struct {
	slabs        bool   // a tall matrix is reduced by slabs of its rows
	vectors      bool   // some are wanted
	precondition string // none, qr, qrcp or qrcp-lq
	v            string // none, accumulate or solve
	hyperbolic   bool
	deflated     bool // hyperbolic and of lower rank
	bySVD        bool // hyperbolic, by way of the SVD
}

// copies returns how many copies of the matrix that the Jacobi method works on the hosts hold beside it. The numbers are what was measured.
func (w ways) copies() int64 {
	switch {
	case w.bySVD:
		return 8 // the SVD of a copy, its U and V, the symmetric matrix, its factor, and the vectors of that
	case w.deflated:
		return 7 // as with preconditioning, the null space, and the decompositions that tell its signs
	case w.precondition != "none":
		return 5 // rows sorted, reflectors, triangular factors, vectors before and after the reflectors
	case w.hyperbolic:
		return 2 // rows sorted, reflectors
	case w.v == "solve":
		return 3 // U, Aᵀ·U or its reflectors, V
	}
	return 0
}

// Estimate returns the memory that the task takes on so many devices if its matrix is not graded, and whatever the matrix is. What
// is left open counts with the most that it may need.
func (t Task) Estimate(devices int, limits kernels.Limits) (usual, most Footprint) {
	for _, graded := range []bool{false, true} {
		for _, w := range t.ways(graded, limits.HostMemory) {
			f := w.footprint(t.Config, devices, limits)
			most = most.most(f)
			if !graded {
				usual = usual.most(f)
			}
		}
	}
	return usual, most
}

// ways returns what may be done to a matrix, which is graded or not, on devices whose memory is that of the hosts or not.
func (t Task) ways(graded, hostMemory bool) (all []ways) {
	w := ways{slabs: t.reducible() && !graded, vectors: t.Left || t.Right, hyperbolic: t.Signs != nil}
	preconditions := []string{t.Precondition}
	if t.Precondition == "auto" || t.Precondition == "" {
		switch {
		case w.hyperbolic:
			preconditions = []string{"none", "qr"}
		case graded:
			preconditions = []string{"qrcp-lq"}
		case w.slabs:
			preconditions = []string{"qr"}
		default:
			preconditions = []string{"none"}
		}
	}
	for _, w.precondition = range preconditions {
		needed := t.needs()
		if transposes(w.precondition, w.hyperbolic) {
			needed.left, needed.right = needed.right, needed.left
		}
		for _, w.v = range t.rightWays(needed.right, w.hyperbolic || !hostMemory && (t.V == "auto" || t.V == "")) {
			all = append(all, w)
		}
	}
	if w.hyperbolic { // its rank may be lower
		w.deflated, w.precondition = true, "qrcp-lq"
		all = append(all, w)
	}
	return all
}

// rightWays returns how the right vectors of what the Jacobi method works on may be found; accumulated says that they always are.
func (t Task) rightWays(needed, accumulated bool) []string {
	switch {
	case !needed:
		return []string{"none"}
	case accumulated:
		return []string{"accumulate"}
	case t.V == "auto" || t.V == "":
		return []string{"solve", "accumulate"}
	}
	return []string{t.V}
}

// sides are the vectors of A that are needed, be it for the signs of others.
type sides struct{ left, right bool }

func (t Task) needs() sides {
	return sides{left: t.Left || t.Right && !t.RightLeads, right: t.Right || t.Left && t.RightLeads}
}

// reducible tells whether the matrix is so tall that slabs of its rows are reduced to a triangular factor, unless they are graded.
func (t Task) reducible() bool { return t.M >= matrix.TallRatio*t.N && t.Precondition != "none" }

// transposes tells whether the Jacobi method works on the transpose of a triangular factor, so that its left vectors are on the right
// side of A.
func transposes(precondition string, hyperbolic bool) bool {
	return !hyperbolic && slices.Contains([]string{"qr", "qrcp"}, precondition)
}
