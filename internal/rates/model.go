package rates

import (
	"fmt"
	"math"
	"slices"
)

// Problem is a decomposition whose time is wanted.
type Problem struct {
	M, N    int    // M ≥ N
	Kind    string // of the matrix, as of gen
	Cond    float64
	Ladder  bool // the first sweeps are in float32
	Vectors bool // some are wanted
	Slabs   bool // a tall matrix is reduced by slabs of its rows
	// as info.json has them; "": what was measured
	Precondition, V string
	Single          Blocks
	Double          Blocks // of float64
	Machine
}

// Blocks are the block-columns of the Jacobi method.
type Blocks struct {
	Columns int // narrow ones in all
	Pieces  int // messages in which a macro block-column travels
}

// Machine is what computes.
type Machine struct {
	Devices int
	OnNode  int // of them, on a node
	// exchanges of a sweep, and those of them that leave a node
	Phases, SlowPhases float64
	// columns of a block of a matrix, and how many pass by at a time in a product; 0: devices share evenly
	Tile, Passing int
}

// Part is a phase of a decomposition.
type Part struct {
	Name    string  `json:"phase"`
	Seconds float64 `json:"seconds"`
	Waiting float64 `json:"waiting"` // of these, for messages that no computing hides
}

// Forecast is what a decomposition is expected to take, from the matrix on the devices to S, U and V there.
type Forecast struct {
	Parts   []Part
	Seconds float64
	Waiting float64 // of Seconds, for messages
	Sweeps  float64
	// of copies from and to the hosts, not in Seconds
	Upload, Download float64
	Sent             map[string]float64 // bytes that a device sends in all, by link
	Like             Course             // the one that was measured, and is followed
	Beyond           bool               // N is outside of what was measured
}

// forecaster adds up.
type forecaster struct {
	*Rates
	p      Problem
	course Course
	f      *Forecast
	fast   string // the link in a node
	// of what there should be rates, and are none
	missing string
}

// slow is the link between nodes.
const slow = "network"

// paths are the links between devices of a node, the best first.
var paths = []string{"peer", "direct", "host", "staged"}

// Forecast returns the time of a decomposition.
func (r *Rates) Forecast(p Problem) (*Forecast, error) {
	course, extra, beyond, err := r.course(p)
	if err != nil {
		return nil, err
	}
	course = p.follow(course)
	x := forecaster{Rates: r, p: p, course: course, fast: "peer",
		f: &Forecast{Sent: map[string]float64{}, Like: course, Beyond: beyond}}
	for _, path := range slices.Backward(paths) {
		if _, known := r.Links[path]; known {
			x.fast = path
		}
	}
	x.prepare()
	x.sweeps("float32", course.Single, p.Single, extra)
	if course.Precision == Ladder {
		extra = 0
	}
	x.sweeps("float64", course.Double, p.Double, extra)
	if len(course.Refined) > 0 {
		x.refine()
	}
	if p.Vectors {
		x.vectors()
	}
	if x.missing != "" {
		return nil, fmt.Errorf("the rates of %s have nothing of %s: jmpi bench --rates FILE measures them anew",
			r.Device, x.missing)
	}
	share := 8 * float64(p.N) / float64(p.Devices)
	x.f.Upload = r.Transfer["upload"].Seconds(share * float64(p.M))
	if p.Vectors {
		x.f.Download = r.Transfer["download"].Seconds(share * float64(p.M+p.N))
	}
	for i := range x.f.Parts {
		x.f.Seconds += x.f.Parts[i].Seconds
		x.f.Waiting += x.f.Parts[i].Waiting
	}
	return x.f, nil
}

// follow returns the course with what the problem says otherwise.
func (p Problem) follow(c Course) Course {
	if p.Precondition != "" {
		c.Precondition = p.Precondition
	}
	if p.V != "" {
		c.V = p.V
	}
	return c
}

// course returns the decomposition of this kind and precision whose order is nearest, and how many sweeps
// more there are, where all were smaller: as many as the measured ones had more from one order to the next.
func (r *Rates) course(p Problem) (nearest Course, extra float64, beyond bool, err error) {
	var fit []Course
	for _, c := range r.Courses {
		if c.Kind == p.Kind && (p.Cond == 0 || c.Cond == p.Cond) && (c.Precision == Ladder) == p.Ladder {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		precision := "float64"
		if p.Ladder {
			precision = Ladder
		}
		return nearest, 0, false, fmt.Errorf("no decomposition of kind %s, %s, was measured on %s: jmpi bench "+
			"--rates FILE --kind %s does so", p.Kind, precision, r.Device, p.Kind)
	}
	far := func(c Course) float64 { // first by orders, then by devices
		return math.Abs(math.Log2(float64(p.N)/float64(c.N))) +
			math.Abs(math.Log2(float64(p.Devices)/float64(max(1, c.Devices))))/1e3
	}
	first, last := fit[0], fit[0]
	nearest = fit[0]
	for _, c := range fit {
		if far(c) < far(nearest) {
			nearest = c
		}
		if c.N < first.N {
			first = c
		}
		if c.N > last.N {
			last = c
		}
	}
	beyond = p.N > last.N || p.N < first.N
	if p.N > last.N && last.N > first.N {
		slope := (last.work() - first.work()) / math.Log2(float64(last.N)/float64(first.N))
		extra = max(0, slope) * math.Log2(float64(p.N)/float64(last.N))
	}
	return nearest, extra, beyond, nil
}

// work is the number of full sweeps that all sweeps are worth.
func (c Course) work() (sum float64) {
	for _, list := range [][]float64{c.Single, c.Double} {
		for _, active := range list {
			sum += active
		}
	}
	return sum
}

// add adds to a part.
func (x *forecaster) add(name string, seconds, waiting float64) {
	for i := range x.f.Parts {
		if p := &x.f.Parts[i]; p.Name == name {
			p.Seconds, p.Waiting = p.Seconds+seconds+waiting, p.Waiting+waiting
			return
		}
	}
	x.f.Parts = append(x.f.Parts, Part{name, seconds + waiting, waiting})
}

// dense adds a step on whole matrices, which is divided among the devices: the busiest one counts. In
// products and factorizations each sees bytes of a matrix, of which the others have most. In other steps it
// gets its own share of them.
func (x *forecaster) dense(name, what string, work, bytes float64) {
	curve := x.Dense[what]
	if other := map[string]string{Rough: Product, Combine: Times}[what]; len(curve) == 0 {
		curve = x.Dense[other] // rates of an earlier version, of GPUs
	}
	if len(curve) == 0 {
		x.missing = what
	}
	computing, way := curve.Seconds(work*x.p.busiest(x.p.N, what == Gram)), 0.0
	if (what == Factor || what == Pivoted) && x.Kind == "cuda" && len(curve) > 0 {
		computing = x.factoring(work, curve)
	}
	switch what {
	case Product, Rough, Gram, Correct, Factor, Form, Apply:
		way = x.shown(bytes, computing)
	case Pivoted:
		way = x.gathered(bytes, 1)
	default:
		way = x.moved(bytes)
	}
	if what == Gram { // what is below the diagonal comes from above it
		way += x.moved(bytes / 2)
	}
	x.add(name, computing, way)
}

// factoring returns the time of a QR factorization on GPUs. One of them factors a panel, and the others get
// no further meanwhile; they share the products. Beyond what was measured panels grow as the square of the
// order.
func (x *forecaster) factoring(work float64, curve Curve) float64 {
	seen := min(work, curve[len(curve)-1].Work)
	panels := max(0, curve.Seconds(seen)-x.Dense[Product].Seconds(seen)) * math.Pow(work/seen, 2./3)
	return panels + min(curve.Seconds(work), x.Dense[Product].Seconds(work))*x.p.busiest(x.p.N, false)
}

// shown returns for how long a device waits for a matrix of so many bytes that passes by, some columns at a
// time. They come while it computes, but not to a host: its processor moves them, and also copies its own
// ones side by side with them.
func (x *forecaster) shown(bytes, computing float64) float64 {
	groups := 1.0
	if x.p.Passing > 0 {
		groups = math.Ceil(float64(x.p.N) / float64(x.p.Passing))
	}
	way := x.gathered(bytes, groups)
	if x.Kind != "cpu" {
		return max(0, way-computing)
	}
	if x.p.Devices > 1 {
		way += x.Dense[Select].Seconds(bytes / float64(x.p.Devices))
	}
	return way
}

// busiest returns which part of the work with n columns the device has that has most: blocks of columns are
// dealt out one after the other, and in a product all devices wait for the next columns that pass by. Of a
// Gram matrix what is above the diagonal is formed.
func (m Machine) busiest(n int, triangular bool) float64 {
	if m.Tile == 0 || m.Devices == 1 {
		return 1 / float64(m.Devices)
	}
	blocks, group := (n+m.Tile-1)/m.Tile, max(1, m.Passing/m.Tile)
	if !triangular {
		columns := min(n, (blocks+m.Devices-1)/m.Devices*m.Tile)
		return float64(columns) / float64(n)
	}
	most, all := 0, 0
	for first := 0; first < blocks; first += group { // of rows
		of := make([]int, min(m.Devices, blocks))
		for b := first; b < blocks; b++ {
			of[b%m.Devices] += min(group, b-first+1)
		}
		for _, count := range of {
			all += count
		}
		most += slices.Max(of)
	}
	return float64(most) / float64(all)
}

// moved returns the time in which a device gets a share of a matrix of so many bytes, block by block,
// wherever it is; of none: in which all learn a few numbers.
func (x *forecaster) moved(bytes float64) float64 {
	g := float64(x.p.Devices)
	if bytes == 0 {
		if x.fast == "peer" || g == 1 {
			return 0
		}
		return 2 * x.Links[x.fast].Latency
	}
	blocks := 1.0
	if x.p.Tile > 0 {
		blocks = math.Ceil(float64(x.p.N) / float64(x.p.Tile))
	}
	return x.gathered(bytes/g, blocks)
}

// gathered returns the time in which a device gets what the others have of a matrix of so many bytes, in so
// many messages.
func (x *forecaster) gathered(bytes, messages float64) float64 {
	g, node := float64(x.p.Devices), float64(x.p.OnNode)
	near, far := bytes*(min(node, g)-1)/g, bytes*max(0, g-node)/g
	return x.send(x.fast, near, messages) + x.send(slow, far, messages)
}

// send returns the time of messages, and counts them.
func (x *forecaster) send(link string, bytes, messages float64) float64 {
	if bytes == 0 {
		return 0
	}
	x.f.Sent[link] += bytes
	l := x.Links[link]
	return l.Seconds(bytes) + (messages-1)*l.Latency
}

// sweeps adds those of one precision.
func (x *forecaster) sweeps(element string, active []float64, b Blocks, extra float64) {
	for _, a := range active {
		x.sweep(element, a, b, 1)
	}
	if extra > 0 && len(active) > 0 {
		x.sweep(element, 1, b, extra)
	}
}

// sweep adds so many times a sweep of which some pivots are active.
func (x *forecaster) sweep(element string, active float64, b Blocks, times float64) {
	x.f.Sweeps += times
	n, g := float64(x.p.N), float64(x.p.Devices)
	rows := n
	if element == "float64" && x.course.Precondition == "none" && !x.p.Slabs {
		rows = float64(x.p.M)
	}
	all := rows // that are multiplied
	if x.course.V == "accumulate" || element == "float64" && x.course.Precision == Ladder {
		all += n
	}
	steps, problems, k := float64(b.Columns-1)*times, float64(b.Columns)/2/g, 2*n/float64(b.Columns)
	one := func(primitive string, work, count float64) float64 {
		c, _ := x.Batch(primitive, element, int(k+0.5))
		if len(c) == 0 {
			x.missing = primitive + " in " + element
		}
		if count >= 1 {
			return steps * c.Seconds(work*count)
		}
		return steps * count * c.Seconds(work)
	}
	shorten := one("shorten", ShortenWork(rows, k), problems)
	inner := one("inner", JacobiWork(k), problems*active)
	multiply := one("postmultiply", 2*all*k*k, problems*active)
	x.add("shorten", shorten, 0)
	x.add("inner", inner, 0)
	x.add("postmultiply", multiply, 0)
	if x.p.Devices > 1 {
		bytes := all * math.Ceil(n/(2*g)) * 8
		if element == "float32" {
			bytes /= 2
		}
		x.exchange(bytes, (shorten+inner+multiply)/times/x.p.Phases, b, times)
	}
}

// ShortenWork is the work of Gram and Cholesky on one pivot of order k.
func ShortenWork(rows, k float64) float64 { return rows*k*k + k*k*k/3 }

// JacobiWork is the work of the pointwise method on one factor: one sweep of k·(k−1)/2 rotations.
func JacobiWork(k float64) float64 { return 6 * k * k * k }

// exchange adds the waiting of a sweep, in whose macro steps a device computes so long. A macro block-column
// is sent in pieces. The first one is on its way before the next macro step begins, all others beside it, but
// on hosts.
func (x *forecaster) exchange(bytes, computing float64, b Blocks, times float64) {
	wait := func(link string, phases float64) float64 {
		if phases == 0 {
			return 0
		}
		x.f.Sent[link] += phases * times * bytes
		way := x.Links[link].Seconds(bytes)
		first := way / float64(max(1, b.Pieces))
		if x.Kind == "cpu" {
			first = way
		}
		return phases * times * (first + max(0, way-first-computing))
	}
	x.add("exchange", 0, wait(x.fast, x.p.Phases-x.p.SlowPhases)+wait(slow, x.p.SlowPhases))
}
