package svd

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rs/zerolog"

	"jmpi/dist"
	"jmpi/dist/jacobi"
	"jmpi/internal/report"
)

// Vectors says which singular vectors are computed.
type Vectors int

// The singular vectors.
const (
	Both Vectors = iota
	OnlyU
	OnlyV
	None
)

func (v Vectors) left() bool  { return v == Both || v == OnlyU }
func (v Vectors) right() bool { return v == Both || v == OnlyV }

// Sweep is what one sweep over all pairs of columns did, over all ranks.
type Sweep = jacobi.SweepInfo

// Settings say what of a decomposition is wanted, and how it is computed. The zero value is what the command
// jmpi svd does without flags. All but Log and Swept must be the same on every rank.
type Settings struct {
	Vectors Vectors
	// K is how many singular values and vectors are wanted at most, the largest; 0: all. RTol leaves out those
	// that are not above RTol·σ₁, 0 ≤ RTol < 1; 0: none. The method takes as long as for all. A hyperbolic SVD
	// has no such part.
	K    int
	RTol float64

	Precondition dist.Preconditioner // what is done before the Jacobi method
	V            dist.RightVectors   // how V is found
	Precision    dist.Precision      // of the first sweeps; results are of float64
	MaxSweeps    int                 // 0: 30

	// Log gets lines of JSON, from rank 0 alone, where the method changes its course: often none. nil: none.
	Log io.Writer
	// Swept, if not nil, is called on every rank after each sweep.
	Swept func(Sweep)
}

// defaultSweeps is the MaxSweeps of the command.
const defaultSweeps = 30

// check refuses settings that have no meaning.
func (s Settings) check() error {
	switch {
	case s.Vectors < Both || s.Vectors > None:
		return fmt.Errorf("svd: Vectors is %d: take Both, OnlyU, OnlyV or None", s.Vectors)
	case s.K < 0:
		return fmt.Errorf("svd: K is %d: it must be at least 1, or 0 for all singular values", s.K)
	case !(s.RTol >= 0 && s.RTol < 1):
		return fmt.Errorf("svd: RTol is %g: it must be at least 0 and below 1", s.RTol)
	case s.MaxSweeps < 0:
		return fmt.Errorf("svd: MaxSweeps is %d: it must be at least 1, or 0 for %d", s.MaxSweeps, defaultSweeps)
	}
	return nil
}

// checkSigns refuses signs that are none for an m×n matrix, and settings that the hyperbolic SVD has not.
func (s Settings) checkSigns(signs []float64, m, n int) error {
	if len(signs) != n {
		return fmt.Errorf("svd: there are %d signs for %d columns", len(signs), n)
	}
	if _, err := report.NewSignature(signs); err != nil {
		return fmt.Errorf("svd: %w", err)
	}
	not := []dist.Preconditioner{dist.QRCP, dist.QRCPLQ, dist.QRLQ}
	switch {
	case m < n:
		return fmt.Errorf("svd: the hyperbolic SVD needs at least as many rows as columns, the matrix is %d×%d",
			m, n)
	case s.K != 0 || s.RTol != 0:
		return errors.New("svd: K and RTol take the largest part of an SVD; a hyperbolic SVD has none")
	case dist.Mixed(signs) && (slices.Contains(not, s.Precondition) || s.V == dist.FromLeft):
		return fmt.Errorf("svd: the hyperbolic SVD has no Precondition %v with V %v: leave both on auto",
			s.Precondition, s.V)
	}
	return nil
}

// task is a decomposition without its matrix, whose shape is m×n.
func (w *World) task(m, n int, signs []float64, s Settings) dist.Task {
	t := dist.Task{M: m, N: n, Signs: signs, Precondition: s.Precondition, V: s.V, Precision: s.Precision,
		Wanted: dist.Wanted{Left: s.Vectors.left(), Right: s.Vectors.right(), Most: s.K, Above: s.RTol},
		Host:   dist.ThisHost(w.threads)}
	if m < n { // its transpose is decomposed
		t.M, t.N = n, m
		t.Left, t.Right, t.RightLeads = t.Right, t.Left, true
	}
	t.Strategy, t.MaxSweeps = jacobi.AutoStrategy, s.MaxSweeps
	if s.MaxSweeps == 0 {
		t.MaxSweeps = defaultSweeps
	}
	t.Swept = s.Swept
	if s.Log != nil && w.Rank() == 0 {
		t.Log = zerolog.New(s.Log).Level(zerolog.InfoLevel).With().Timestamp().Logger()
	}
	return t
}
