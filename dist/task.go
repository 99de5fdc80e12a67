package dist

import (
	"jmpi/dist/jacobi"
	"jmpi/internal/enum"
)

// Task says which decomposition to compute, A = U·diag(σ)·Vᵀ, and how. Except Load it must be the
// same on every rank.
type Task struct {
	M, N int // shape of A, M ≥ N (the transpose of the user's matrix where that is wide)
	// Load writes a part of A to its Data. Several goroutines call it.
	Load func(p Part) error
	Reading
	// Signs of the columns, ±1, for the hyperbolic SVD: UᵀU = I, Vᵀ·diag(Signs)·V = J = diag(I_P, −I), σ is
	// non-increasing over the P columns with +1 and non-decreasing over the others. nil: the SVD. V is
	// accumulated then, and the preconditioners are NoPreconditioner and QR.
	Signs []float64
	Wanted
	Precondition Preconditioner
	V            RightVectors
	Precision    Precision
	jacobi.Settings
	jacobi.Hooks
	Host
}

// Wanted says which singular vectors are wanted.
type Wanted struct {
	Left, Right bool // U, V
	RightLeads  bool // in each column of V, not of U, the entry of largest magnitude is positive
	// Most is how many singular values and vectors of an SVD are wanted at most, the largest; 0: all. Those
	// that are not larger than Above·σ₁ are not wanted either, unless Above is 0.
	Most  int
	Above float64
}

// count returns how many of the singular values, which are non-increasing, are wanted.
func (w Wanted) count(sigma []float64) int {
	n := len(sigma)
	if w.Most > 0 {
		n = min(n, w.Most)
	}
	for w.Above > 0 && n > 0 && !(sigma[n-1] > w.Above*sigma[0]) {
		n--
	}
	return n
}

// Preconditioner says what is done to A before the Jacobi method works on X instead, [docs/numerics.md
// §4]. For the hyperbolic SVD, whose columns keep their signs, QR is A·P = Q·R with the rows sorted and
// column pivoting, and X = R·Pᵀ.
type Preconditioner int

const (
	AutoPreconditioner Preconditioner = iota // what the matrix needs
	NoPreconditioner                         // X = A
	QR                                       // A·P = Q·R with column pivoting, X = Rᵀ
	QRCP                                     // the same with rows sorted by decreasing max-norm before
	QRCPLQ                                   // further R = X·Q₂ᵀ, X lower triangular
	QRLQ                                     // A = Q·R, R = X·Q₂ᵀ; QRCPLQ if columns depend on each other
)

var preconditioners = enum.Names{AutoPreconditioner: "auto", NoPreconditioner: "none", QR: "qr", QRCP: "qrcp",
	QRCPLQ: "qrcp-lq", QRLQ: "qr-lq"}

func (p Preconditioner) String() string { return preconditioners.Of(int(p)) }

// Set is the inverse of String.
func (p *Preconditioner) Set(text string) error { return enum.Set(p, text, preconditioners) }

// Type lists the values, for a help text.
func (p Preconditioner) Type() string { return preconditioners.Type() }

// Choices lists the values.
func (p Preconditioner) Choices() []string { return preconditioners }

// RightVectors says how V of the Jacobi method is found.
type RightVectors int

const (
	AutoRight  RightVectors = iota // what suits the matrix and the memory of the devices
	Accumulate                     // the rotations are accumulated
	FromLeft                       // from the left vectors, at the end
	noRight                        // it is not needed
	Refined                        // with U, from what sweeps in float32 give
)

var rightVectors = enum.Names{AutoRight: "auto", Accumulate: "accumulate", FromLeft: "solve"}

func (r RightVectors) String() string {
	switch r {
	case noRight:
		return "none"
	case Refined:
		return "refined"
	}
	return rightVectors.Of(int(r))
}

// Set is the inverse of String.
func (r *RightVectors) Set(text string) error { return enum.Set(r, text, rightVectors) }

// Type lists the values, for a help text.
func (r RightVectors) Type() string { return rightVectors.Type() }

// Choices lists the values.
func (r RightVectors) Choices() []string { return rightVectors }

// Precision says in which precision the Jacobi method begins. Results are of float64.
type Precision int

const (
	AutoPrecision Precision = iota // in float32, where that serves and is faster
	Float32                        // in float32, where that serves
	Float64                        // the method of the paper
)

var precisions = enum.Names{AutoPrecision: "auto", Float32: "float32", Float64: "float64"}

func (p Precision) String() string { return precisions.Of(int(p)) }

// Set is the inverse of String.
func (p *Precision) Set(text string) error { return enum.Set(p, text, precisions) }

// Type lists the values, for a help text.
func (p Precision) Type() string { return precisions.Type() }

// Choices lists the values.
func (p Precision) Choices() []string { return precisions }

// Choice is what was used where a Task leaves it open, and why.
type Choice struct {
	Used string `json:"used"`
	Why  string `json:"why"`
}

// sides are the vectors of A that are needed, be it for the signs of others.
type sides struct{ Left, Right bool }

// needs returns the vectors that are needed.
func (w Wanted) needs() sides {
	return sides{Left: w.Left || w.Right && !w.RightLeads, Right: w.Right || w.Left && w.RightLeads}
}

// any tells whether some are.
func (s sides) any() bool { return s.Left || s.Right }
