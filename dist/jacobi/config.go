package jacobi

import (
	"github.com/rs/zerolog"

	"jmpi/dist/checkpoint"
	"jmpi/dist/exchange"
	"jmpi/dist/matrix"
	"jmpi/internal/enum"
	"jmpi/internal/trace"
	"jmpi/kernels"
	"jmpi/node"
)

// Config says what to solve and how. It must be the same on every rank, except Load's data and the hooks.
type Config struct {
	Problem
	Settings
	Hooks
	past node.Ordering // as a checkpoint has it; the zero value: one that suits
}

// Problem is a matrix, with the signs of its columns, and what is wanted of it.
type Problem struct {
	Start
	M, N int // shape of the matrix, M ≥ N
	// of the hyperbolic SVD: the leading columns with sign +1, 0 < Positive ≤ N, the others have −1;
	// 0: N, the SVD
	Positive int
	Rising   bool // the singular values are sorted the other way round
	// Independent says that the columns are, so that none becomes zero but for rounding errors:
	// however small, each counts.
	Independent bool
	Norms       Norms
	Vectors     bool // accumulate V
	// Precision is the type of the block-columns of G and V. With float32, columns lie there over their norms,
	// which are float64 (kernels.Single). It takes Source, and is for the SVD.
	Precision kernels.Element
	// Cosine is, with float32, the largest cosine of an angle between two columns that pass for orthogonal, for
	// example 3e-6.
	Cosine float64
	// StopBroken ends the method after the first sweep if pivots broke down in it: columns depend on each other.
	StopBroken bool
	// Enough, if not nil, is asked after each sweep, with all sweeps so far. If it says true the method ends,
	// which is no error. It must answer the same on every rank.
	Enough func(sweeps []SweepInfo) bool
}

// Norms says what is known of the norms of the columns.
type Norms int

const (
	AnyNorms Norms = iota
	Falling        // they decrease, about: the columns are those of a triangular factor
	Decaying       // and the singular values decay, so that neighbours make larger angles than others
	Graded         // they decrease by orders of magnitude, so that fewer sweeps are needed
)

// Start is what the method begins with.
type Start struct {
	// Load writes columns j0 ≤ j < j1 of the matrix to dst, column-major with leading dimension M. It is called
	// from one goroutine, in increasing order within a macro block-column.
	Load func(j0, j1 int, dst []float64) error
	// Source, if not nil, is used instead of Load. It lies on the same devices. Its memory is given back when
	// the block-columns are copied, unless KeepSource is set.
	Source     *matrix.Matrix
	KeepSource bool
	// Right, if not nil, is what V begins with instead of the identity: N×N, of an SVD with Vectors in float64.
	// Its memory is given back when V has it.
	Right *matrix.Matrix
}

// Settings choose the variant of the method. The zero value leaves all to the defaults, but
// Strategy and MaxSweeps.
type Settings struct {
	Strategy    string // pivot strategy of all levels, or AutoStrategy
	Scheme      Scheme
	Variant     Variant
	Block       int // preferred width of the narrow block-columns, 0: the back end's
	InnerBlock  int // preferred width inside the factors, 0: as few levels as possible
	MaxSweeps   int // limit of sweeps of the topmost level
	PlanHorizon int // sweeps that are planned together, 0: 12
	GPUDirect   exchange.GPUDirect
	// of the chunks of messages that pass through pinned host memory, a multiple of 8; 0: 4 MiB
	StageBytes int64
	// time the phases of devices that work asynchronously one by one, which slows them; others are timed anyway
	Profile bool
	// a state for the checkpoint is copied aside and written while the method goes on; otherwise it waits
	Aside bool
}

// Hooks are called while the method runs. The functions may be nil.
type Hooks struct {
	Log      zerolog.Logger
	Progress func(p Progress)                 // after each sub-step of the rank's first device
	Swept    func(s SweepInfo)                // after each sweep, on every rank
	Trace    func(device, level, i, p, q int) // every executed pivot pair, see node.Config
	// Recorder, if not nil, keeps what each device does when: device d on track 1 + d, the sweeps on track 0.
	Recorder *trace.Recorder
	// Journal, if not nil, keeps the state after sweeps. Where it has one, the method goes on from that.
	Journal *checkpoint.Journal
}

// Scheme says what a device does in a macro step.
type Scheme int

const (
	Flat   Scheme = iota // pairs of narrow block-columns across its two macro block-columns
	Nested               // a Jacobi method of its own on its two macro block-columns, [Nov15, §5]
)

var schemes = enum.Names{Flat: "flat", Nested: "nested"}

func (s Scheme) String() string { return schemes.Of(int(s)) }

// Set is the inverse of String.
func (s *Scheme) Set(text string) error { return enum.Set(s, text, schemes) }

// Type lists the values, for a help text.
func (s Scheme) Type() string { return schemes.Type() }

// Choices lists the values.
func (s Scheme) Choices() []string { return schemes }

// Variant says how many inner sweeps a pivot problem gets, [Nov15, §4].
type Variant int

const (
	AutoVariant Variant = iota // the faster one on the devices; Full for the hyperbolic SVD
	Block                      // one
	Twice                      // at most two; with a single pivot problem as many as it needs
	Full                       // as many as it needs
)

var variants = enum.Names{AutoVariant: "auto", Block: "block", Twice: "twice", Full: "full"}

func (v Variant) String() string { return variants.Of(int(v)) }

// Set is the inverse of String.
func (v *Variant) Set(text string) error { return enum.Set(v, text, variants) }

// Type lists the values, for a help text.
func (v Variant) Type() string { return variants.Type() }

// Choices lists the values.
func (v Variant) Choices() []string { return variants }

// variant replaces AutoVariant by the faster variant on devices with these limits.
func (c Config) variant(limits kernels.Limits) Variant {
	switch {
	case c.Variant != AutoVariant:
		return c.Variant
	case c.positive() < c.N:
		return Full
	case limits.FullBlock && (c.Precision == kernels.Float64 || c.Norms == Graded):
		return Twice
	}
	return Block
}

// inner returns how many inner sweeps sweep n has in place of those of the block-oriented variant; 0: no
// other number. Where singular values decay the large angles are within block-columns, or between neighbours,
// so that it pays to visit them twice at first (decision 70). Not in float32: there a sweep is spared, but
// what is left for the passes is more.
func (c Config) inner(n int, limits kernels.Limits) int {
	if n > 2 || c.Precision == kernels.Float32 || c.Norms < Decaying || c.positive() < c.N ||
		c.variant(limits) != Block {
		return 0
	}
	return node.FewSweeps
}

// Progress tells how far a sweep is.
type Progress struct {
	Sweep, Step, Steps int // 1-based sweep; sub-steps done, and in all
}

// SweepInfo is what one sweep of the topmost level did, over all ranks.
type SweepInfo struct {
	Sweep     int     `json:"-"`
	Precision string  `json:"precision"`
	Rotations int64   `json:"rotations"`
	Proper    int64   `json:"proper"`
	Active    float64 `json:"active"` // the share of pivots whose columns were not orthogonal
	// the largest cosine of an angle between two columns of a pivot, when it was its turn; 0: none
	Cosine    float64 `json:"cosine,omitempty"`
	Seconds   float64 `json:"seconds"`
	Flops     int64   `json:"flops"` // of Gram and postmultiply
	BytesFast int64   `json:"bytes_fast"`
	BytesSlow int64   `json:"bytes_slow"`

	tally kernels.Tally
}
