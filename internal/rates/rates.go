package rates

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Rates are what was measured on devices of one kind.
type Rates struct {
	Device  string `json:"device"`  // as the hardware calls itself
	Kind    string `json:"kind"`    // cpu or cuda
	Threads int    `json:"threads"` // of a device
	Made    string `json:"made"`    // by which command, of which version
	// devices that measured at the same time, where they have the memory of their host: they share its speed
	Together int `json:"together,omitempty"`
	// Batches has the parts of a p-step of the Jacobi method, Dense what is done to whole matrices: seconds by
	// the operations, or bytes, of one call on one device.
	Batches []Batch          `json:"batches"`
	Dense   map[string]Curve `json:"dense"`
	// Transfer has seconds by bytes, from a host to a device and back: upload, download.
	Transfer map[string]Curve `json:"transfer,omitempty"`
	// Links has the paths of messages: peer, direct, staged, host; and network, between nodes.
	Links   map[string]Link `json:"links,omitempty"`
	Courses []Course        `json:"courses"`
}

// Batch is the time of one part of a p-step, by its work.
type Batch struct {
	Primitive string `json:"primitive"` // shorten (Gram, Cholesky), inner, postmultiply
	Type      string `json:"type"`      // float32 or float64
	Order     int    `json:"order"`     // of a pivot, twice the width of a block-column
	Seconds   Curve  `json:"seconds"`
}

// Link is a path of messages, as one device sees it that sends and receives at the same time.
type Link struct {
	Latency        float64 `json:"latency"` // seconds
	BytesPerSecond float64 `json:"bytes_per_second"`
	Source         string  `json:"source"` // measured, or from where it is
}

// Seconds returns the time of a message.
func (l Link) Seconds(bytes float64) float64 {
	if l.BytesPerSecond == 0 {
		return 0
	}
	return l.Latency + bytes/l.BytesPerSecond
}

// Course is what one decomposition was seen to do.
type Course struct {
	Kind         string    `json:"kind"` // of the matrix, as of gen
	Cond         float64   `json:"cond,omitempty"`
	N            int       `json:"n"`
	Devices      int       `json:"devices,omitempty"` // that computed it together, 0: one
	Precision    string    `json:"precision"`         // Ladder, or float64
	Precondition string    `json:"precondition"`      // as info.json has it
	V            string    `json:"v"`                 // as info.json has it
	Single       Shares    `json:"float32,omitempty"` // the active share of each sweep in float32
	Double       Shares    `json:"float64,omitempty"` // and in float64
	Refined      []Refined `json:"refined,omitempty"`
	Seconds      float64   `json:"seconds"` // that it took
	// of the last run, by phase: precondition, sweeps, refine, vectors. The model does not use them
	Spent map[string]float64 `json:"spent,omitempty"`
}

// Shares are active shares, one of each sweep. As text they are numbers with spaces between them.
type Shares []float64

// MarshalText writes the numbers.
func (s Shares) MarshalText() ([]byte, error) {
	text := ""
	for _, x := range s {
		text += fmt.Sprintf(" %.4g", x)
	}
	return []byte(strings.TrimSpace(text)), nil
}

// UnmarshalText is the inverse of MarshalText.
func (s *Shares) UnmarshalText(text []byte) error {
	*s = nil
	for _, field := range strings.Fields(string(text)) {
		x, err := strconv.ParseFloat(field, 64)
		if err != nil || !(x >= 0 && x <= 1) {
			return fmt.Errorf("%q: write the share of active pivots, from 0 to 1", field)
		}
		*s = append(*s, x)
	}
	return nil
}

// Ladder is the precision of decompositions whose first sweeps are in float32.
const Ladder = "float32, refined"

// Refined is a step from a result of float32 to one of float64.
type Refined struct {
	What        string `json:"what"`            // orthonormalize, multiply, look, pass, verify
	Order       int    `json:"order,omitempty"` // of a pass
	Corrections int    `json:"corrections,omitempty"`
	// of a pass: it has a term of second order; and the share of its products that was done in float32
	Second  bool    `json:"second,omitempty"`
	Single  float64 `json:"single,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // that it took. The model does not use them
}

// What is done to whole matrices, by the names in Rates.Dense. The work of the first ones is operations, that
// of the others, which the bandwidth of the memory limits, bytes of the matrix.
const (
	Product = "product" // 2·m·n·k
	Rough   = "rough"   // the same, where float32 is enough
	Gram    = "gram"    // m·n²: one triangle
	Correct = "correct" // 2·m·n²: of nearly orthonormal columns
	Factor  = "factor"  // 2·n²·(m − n/3): QR
	Form    = "form"    // the same: Q
	Apply   = "apply"   // 2·n²·m: Q of a square matrix to n columns
	Pivoted = "pivoted" // as Factor: QR with pivoting

	Measure   = "measure"   // rows and columns, and their angles
	Transpose = "transpose" // copied
	Select    = "select"    // columns in another order
	Angles    = "angles"    // of a Gram matrix
	Norms     = "norms"     // of columns, and their division by them
	Add       = "add"       // of two matrices
	Times     = "times"     // its transpose times four vectors
	Combine   = "combine"   // times four vectors
)

// FactorWork is the work of Factor, Form and Pivoted for an m×n matrix.
func FactorWork(m, n float64) float64 { return 2 * n * n * (m - n/3) }

// Batch returns the curve of a primitive, of the nearest order that was measured, and that order.
func (r *Rates) Batch(primitive, element string, order int) (c Curve, measured int) {
	best := 0.0
	for _, b := range r.Batches {
		if b.Primitive != primitive || b.Type != element {
			continue
		}
		far := float64(max(b.Order, order)) / float64(min(b.Order, order))
		if measured == 0 || far < best {
			best, c, measured = far, b.Seconds, b.Order
		}
	}
	return c, measured
}

// Order returns the largest order of the square matrices that were measured.
func (r *Rates) Order() int {
	c := r.Dense[Transpose] // of bytes
	if len(c) == 0 {
		return 0
	}
	return int(math.Round(math.Sqrt(c[len(c)-1].Work/8) * 1.001))
}

// AddBatch notes what a call of a primitive took.
func (r *Rates) AddBatch(primitive, element string, order int, p Point) {
	at := slices.IndexFunc(r.Batches, func(b Batch) bool {
		return b.Primitive == primitive && b.Type == element && b.Order == order
	})
	if at < 0 {
		at = len(r.Batches)
		r.Batches = append(r.Batches, Batch{Primitive: primitive, Type: element, Order: order})
	}
	r.Batches[at].Seconds.Add(p)
}

// Times returns all seconds of batches and of steps on whole matrices, in an order that rates of the same
// points have in common.
func (r *Rates) Times() (all []*float64) {
	of := func(c Curve) {
		for i := range c {
			all = append(all, &c[i].Seconds)
		}
	}
	for _, b := range r.Batches {
		of(b.Seconds)
	}
	for _, what := range slices.Sorted(maps.Keys(r.Dense)) {
		of(r.Dense[what])
	}
	return all
}

// AddDense notes what was done to a whole matrix.
func (r *Rates) AddDense(what string, p Point) {
	if r.Dense == nil {
		r.Dense = map[string]Curve{}
	}
	c := r.Dense[what]
	c.Add(p)
	r.Dense[what] = c
}

func (c Course) same(d Course) bool {
	return d.Kind == c.Kind && d.Cond == c.Cond && d.N == c.N && max(1, d.Devices) == max(1, c.Devices) &&
		(d.Precision == Ladder) == (c.Precision == Ladder)
}

// AddCourse notes what a decomposition did, in place of an earlier one of the same kind, order and precision
// on as many devices.
func (r *Rates) AddCourse(c Course) {
	r.Courses = append(slices.DeleteFunc(r.Courses, c.same), c)
	slices.SortStableFunc(r.Courses, func(a, b Course) int {
		if o := strings.Compare(a.Kind+a.Precision, b.Kind+b.Precision); o != 0 {
			return o
		}
		return cmp.Or(a.N-b.N, a.Devices-b.Devices)
	})
}

// Has tells whether a decomposition of this kind, order and precision was measured.
func (r *Rates) Has(c Course) bool { return slices.ContainsFunc(r.Courses, c.same) }

// Merge adds what a file of the same kind of device had, unless it was measured again. Of its rates nothing
// is left where these reach as far.
func (r *Rates) Merge(old *Rates) error {
	if old.Together != r.Together {
		return fmt.Errorf("the rates are of %d ranks that shared memory, and these are %d: take another file",
			old.Together, r.Together)
	}
	if old.Device != r.Device || old.Threads != r.Threads {
		return fmt.Errorf("the rates are of %s with %d threads, and this is %s with %d: take another file",
			old.Device, old.Threads, r.Device, r.Threads)
	}
	fresh := *r
	*r = *old
	if len(fresh.Batches) > 0 {
		r.Made = fresh.Made
	}
	if len(fresh.Batches) > 0 && fresh.Order() >= old.Order() { // nothing of an earlier version is left
		r.Batches, r.Dense = nil, nil
	}
	for _, b := range fresh.Batches {
		for _, p := range b.Seconds {
			r.AddBatch(b.Primitive, b.Type, b.Order, p)
		}
	}
	for what, c := range fresh.Dense {
		for _, p := range c {
			r.AddDense(what, p)
		}
	}
	if fresh.Transfer != nil {
		r.Transfer = fresh.Transfer
	}
	for name, l := range fresh.Links {
		if r.Links == nil {
			r.Links = map[string]Link{}
		}
		r.Links[name] = l
	}
	for _, c := range fresh.Courses {
		r.AddCourse(c)
	}
	return nil
}

// Write returns the text of a file.
func (r *Rates) Write() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return b.Bytes(), err
}

//go:embed *.json
var known embed.FS

// Known returns the rates that come with the program, of GPUs, by name.
func Known() (all []*Rates, err error) {
	files, err := known.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := known.ReadFile(f.Name())
		if err != nil {
			return nil, err
		}
		r, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("rates: %s: %w", f.Name(), err)
		}
		all = append(all, r)
	}
	return all, nil
}
