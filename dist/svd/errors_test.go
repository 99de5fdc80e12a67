package svd

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"jmpi/dist/comm"
	"jmpi/internal/parallel"
)

// isFailure tells whether an error is known to all ranks, of this kind, and says something.
func isFailure(err error, kind comm.Kind, text string) bool {
	var f *comm.Failure
	return errors.As(err, &f) && f.Kind == kind && strings.Contains(f.Text, text)
}

// falling is a matrix whose At panics in its last row.
type falling struct{ mat.Matrix }

func (f falling) At(i, j int) float64 {
	if m, _ := f.Dims(); i == m-1 {
		panic("no such page")
	}
	return f.Matrix.At(i, j)
}

// What is wrong on one rank is the same error on all, and the world can be used further.
func TestErrors(t *testing.T) {
	a := random(20, 10)
	spoilt := mat.DenseCopyOf(a)
	spoilt.Set(19, 7, math.NaN())
	fine := func(int) Source { return Func(20, 10, fillFrom(a)) }
	ones := slices.Repeat([]float64{1}, 10)
	one := func(rank, which int, s, other Source) Source {
		if rank == which {
			return s
		}
		return other
	}
	for _, test := range []struct {
		name     string
		source   func(rank int) Source
		signs    []float64
		settings func(rank int) Settings
		kind     comm.Kind
		text     string
	}{
		{"NaN on another rank", func(r int) Source { return one(r, 1, Columns(spoilt), Source{}) }, nil, nil,
			comm.BadInput, "entry (19, 7) of the matrix is NaN"},
		{"At panics", func(r int) Source { return one(r, 1, Columns(falling{a}), Source{}) }, nil, nil,
			comm.BadInput, "At of the matrix has panicked: no such page"},
		{"the function fails", func(int) Source {
			return Func(20, 10, func(Part) error { return errors.New("no such page") })
		}, nil, nil, comm.BadInput, "no such page"},
		{"the function panics", func(int) Source {
			return Func(20, 10, func(Part) error { panic("no such page") })
		}, nil, nil, comm.BadInput, "Func has panicked: no such page"},
		{"no function", func(int) Source { return Func(20, 10, nil) }, nil, nil, comm.BadUse, "no function"},
		{"a negative shape", func(int) Source { return Func(-1, 10, fillFrom(a)) }, nil, nil, comm.BadUse, "-1×10"},
		{"other shapes", func(r int) Source { return Func(20, 9+r, fillFrom(a)) }, nil, nil, comm.BadUse, "20×9"},
		{"other rows", func(r int) Source { return one(r, 1, Columns(random(19, 2)), Columns(a)) }, nil, nil,
			comm.BadUse, "19 rows, not 20"},
		{"other kinds", func(r int) Source { return one(r, 1, Columns(a), fine(r)) }, nil, nil, comm.BadUse,
			"agree"},
		{"other settings", fine, nil, func(r int) Settings { return Settings{K: 1 + r} }, comm.BadUse, "settings"},
		{"K", fine, nil, func(r int) Settings { return Settings{K: -r} }, comm.BadUse, "K is -1"},
		{"RTol", fine, nil, func(int) Settings { return Settings{RTol: math.NaN()} }, comm.BadUse, "RTol is NaN"},
		{"Vectors", fine, nil, func(int) Settings { return Settings{Vectors: 4} }, comm.BadUse, "Vectors is 4"},
		{"MaxSweeps", fine, nil, func(int) Settings { return Settings{MaxSweeps: -2} }, comm.BadUse, "MaxSweeps"},
		{"signs", fine, []float64{1}, nil, comm.BadUse, "1 signs for 10 columns"},
		{"a sign", fine, append(slices.Clone(ones[:9]), 2), nil, comm.BadUse, "entry 10 of the signature"},
		{"wide", func(int) Source { return Func(5, 10, fillFrom(a)) }, ones, nil, comm.BadUse, "as many rows"},
		{"a part", fine, ones, func(int) Settings { return Settings{K: 3} }, comm.BadUse, "SVD has none"},
		{"no decomposition", func(int) Source {
			return Func(2, 2, func(p Part) error {
				for j := range p.N {
					for i := range p.M {
						p.Data[i+j*p.Ld] = 1
					}
				}
				return nil
			})
		}, []float64{1, -1}, nil, comm.NoDecomposition, "no hyperbolic"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onRanks(t, 2, 1, func(w *World) {
				var s Settings
				if test.settings != nil {
					s = test.settings(w.Rank())
				}
				var r *Result
				var err error
				if test.signs != nil {
					r, err = w.HSVD(t.Context(), test.source(w.Rank()), test.signs, s)
				} else {
					r, err = w.SVD(t.Context(), test.source(w.Rank()), s)
				}
				if !isFailure(err, test.kind, test.text) || r != nil {
					t.Errorf("rank %d: error %v, want one of kind %d that says %q", w.Rank(), err, test.kind, test.text)
				}
				if r, err = w.SVD(t.Context(), fine(w.Rank()), Settings{}); err != nil {
					t.Errorf("rank %d: afterwards: %v", w.Rank(), err)
				}
				r.Free()
			})
		})
	}
}

// A matrix without elements has no singular values.
func TestEmpty(t *testing.T) {
	never := func(Part) error { return errors.New("is called") }
	for name, source := range map[string]Source{"columns of nobody": {}, "a dense one": Columns(&mat.Dense{}),
		"0×5": Func(0, 5, never), "5×0": Func(5, 0, never)} {
		onRanks(t, 2, 1, func(w *World) {
			r, err := w.SVD(t.Context(), source, Settings{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			defer r.Free()
			u, v, err := r.Gather(0)
			if err != nil || u != nil || v != nil || len(r.S) > 0 || !r.Converged {
				t.Errorf("%s: S %v, U %v, V %v, %v", name, r.S, u, v, err)
			}
			if j0, j1, u, v, err := r.Columns(); j0 != 0 || j1 != 0 || u != nil || v != nil || err != nil {
				t.Errorf("%s: columns %d to %d, %v", name, j0, j1, err)
			}
		})
	}
}

// A context that has ended ends the sweeps, with its error.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	onRanks(t, 1, 2, func(w *World) {
		r, err := w.SVD(ctx, Columns(random(30, 20)), Settings{})
		if !errors.Is(err, context.Canceled) || r != nil {
			t.Errorf("error %v", err)
		}
		if !w.broken { // else Close would free memory that is in use
			t.Error("the world is thought to be whole")
		}
	})
}

// Options that have no meaning are errors, and leave nothing open.
func TestStart(t *testing.T) {
	for _, o := range []Options{{Threads: -1}, {DevicesPerRank: -1}, {Backend: 7}} {
		o.Comm = comm.NewLocal(1)[0]
		if w, err := Start(o); err == nil || w != nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// faultIn is what the name of a function holds that panics when internal/parallel calls it; "" stops that.
var faultIn atomic.Value

// Goroutines of one test may end during the next: so the hook is set before all of them.
func init() {
	parallel.Fault = func(f any) func() {
		site, _ := faultIn.Load().(string)
		name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
		if site == "" || !strings.Contains(name, site) {
			return nil
		}
		return func() {
			faults.Add(1)
			panic("a fault for a test")
		}
	}
}

// faults counts these panics.
var faults atomic.Int64

// A panic in a goroutine that answers other ranks, or receives from them, is an error on all ranks, which
// would wait for it for ever.
func TestPanics(t *testing.T) {
	a := random(30, 20)
	for _, site := range []string{".serve.", ".bring."} {
		before := faults.Load()
		faultIn.Store(site)
		onRanks(t, 2, 1, func(w *World) {
			source := Source{}
			if w.Rank() == 0 {
				source = Columns(a)
			}
			r, err := w.SVD(t.Context(), source, Settings{})
			if err == nil {
				_, _, err = r.Gather(0)
			}
			if known := (*comm.Failure)(nil); err == nil || errors.As(err, &known) {
				t.Errorf("%s, rank %d: error %v", site, w.Rank(), err)
			}
		})
		faultIn.Store("")
		if faults.Load() == before {
			t.Errorf("nothing panics in %s", site)
		}
	}
}
