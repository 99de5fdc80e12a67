package svd

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"jmpi/dist"
	"jmpi/dist/comm"
)

// onRanks calls f on so many ranks, which are goroutines, each with so many CPU devices.
func onRanks(t *testing.T, ranks, devices int, f func(w *World)) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range comm.NewLocal(ranks) {
		all.Go(func() {
			w, err := Start(Options{Backend: CPU, DevicesPerRank: devices, Threads: 1, Comm: c})
			if err != nil {
				t.Error(err)
				return
			}
			f(w)
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// random is a matrix with graded columns.
func random(m, n int) *mat.Dense {
	r := rand.New(rand.NewPCG(uint64(m), uint64(n)))
	a := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			a.Set(i, j, r.NormFloat64()*math.Ldexp(1, -j%30))
		}
	}
	return a
}

// found is a result as one rank has it.
type found struct {
	s    []float64
	u, v *mat.Dense
}

// svdOf decomposes on some ranks and returns what the last one gathers.
func svdOf(t *testing.T, ranks, devices int, s Settings, source func(rank int) Source) (f found) {
	t.Helper()
	onRanks(t, ranks, devices, func(w *World) {
		r, err := w.SVD(t.Context(), source(w.Rank()), s)
		if err != nil {
			t.Errorf("rank %d: %v", w.Rank(), err)
			return
		}
		defer r.Free()
		u, v, err := r.Gather(ranks - 1)
		if err != nil {
			t.Errorf("rank %d: %v", w.Rank(), err)
		} else if w.Rank() == ranks-1 {
			f = found{r.S, u, v}
		} else if u != nil || v != nil {
			t.Errorf("rank %d has vectors, too", w.Rank())
		}
	})
	if f.s == nil {
		t.FailNow()
	}
	return f
}

// onlyAt hides that a matrix has its entries in memory.
type onlyAt struct{ mat.Matrix }

// part is columns j0 ≤ j < j1 of a matrix, nil for none.
func part(a *mat.Dense, j0, j1 int) mat.Matrix {
	if m, _ := a.Dims(); j0 < j1 {
		return a.Slice(0, m, j0, j1)
	}
	return (*mat.Dense)(nil)
}

// fillFrom is the function of a Func.
func fillFrom(a mat.Matrix) func(Part) error {
	return func(p Part) error {
		for j := range p.N {
			for i := range p.M {
				p.Data[i+j*p.Ld] = a.At(p.Row+i, p.Column+j)
			}
		}
		return nil
	}
}

// checkSVD checks residual, orthogonality and the order of S.
func checkSVD(t *testing.T, a mat.Matrix, f found) {
	t.Helper()
	m, n := a.Dims()
	k := min(m, n)
	tolerance := 20 * float64(max(m, n)) * 0x1p-52
	var us, usv, rest mat.Dense
	us.Mul(f.u, mat.NewDiagDense(k, f.s))
	usv.Mul(&us, f.v.T())
	rest.Sub(a, &usv)
	if e := mat.Norm(&rest, 2); !(e <= tolerance*mat.Norm(a, 2)) {
		t.Errorf("%d×%d: ‖A − U·S·Vᵀ‖ = %g", m, n, e)
	}
	for _, x := range []*mat.Dense{f.u, f.v} {
		var gram mat.Dense
		gram.Mul(x.T(), x)
		for i := range k {
			gram.Set(i, i, gram.At(i, i)-1)
		}
		if e := mat.Norm(&gram, 2); !(e <= tolerance) {
			t.Errorf("%d×%d: ‖XᵀX − I‖ = %g", m, n, e)
		}
	}
	if !slices.IsSortedFunc(f.s, func(a, b float64) int { return cmp.Compare(b, a) }) {
		t.Errorf("%d×%d: S = %v", m, n, f.s)
	}
}

// same tells whether two results have the same bits.
func (f found) same(g found) bool {
	return slices.Equal(f.s, g.s) && mat.Equal(f.u, g.u) && mat.Equal(f.v, g.v)
}

// However the matrix comes to the ranks, and however the devices are split into ranks, the bits are the same,
// and they are an SVD: of square, wide and tall matrices.
func TestSources(t *testing.T) {
	for _, shape := range [][2]int{{60, 40}, {30, 70}, {1500, 20}, {20, 1500}, {1, 1}, {3, 1}} {
		m, n := shape[0], shape[1]
		a := random(m, n)
		onZero := func(rank int) Source {
			if rank == 0 {
				return Columns(a)
			}
			return Columns(nil)
		}
		uneven := []int{0, n / 5, n / 5, n}
		want := svdOf(t, 1, 3, Settings{}, onZero)
		checkSVD(t, a, want)
		for name, source := range map[string]func(rank int) Source{
			"rank 0":            onZero,
			"At":                func(rank int) Source { return Columns(onlyAt{part(a, rank*n/3, (rank+1)*n/3)}) },
			"columns":           func(rank int) Source { return Columns(part(a, rank*n/3, (rank+1)*n/3)) },
			"uneven, none of 1": func(rank int) Source { return Columns(part(a, uneven[rank], uneven[rank+1])) },
			"function":          func(int) Source { return Func(m, n, fillFrom(a)) },
		} {
			if name == "At" && n < 3 {
				continue // a rank without columns has no At
			}
			t.Run(fmt.Sprintf("%d×%d, %s", m, n, name), func(t *testing.T) {
				if got := svdOf(t, 3, 1, Settings{}, source); !got.same(want) {
					t.Errorf("other bits than on one rank: S %v, not %v", got.s, want.s)
				}
			})
		}
	}
}

// Gather, Columns and Parts give the same vectors, as often as they are asked.
func TestVectors(t *testing.T) {
	a := random(150, 100)
	want := svdOf(t, 1, 3, Settings{}, func(int) Source { return Columns(a) })
	var mu sync.Mutex
	byParts := [2]*mat.Dense{mat.NewDense(150, 100, nil), mat.NewDense(100, 100, nil)}
	keep := func(which int) func(Part) error {
		return func(p Part) error {
			mu.Lock()
			defer mu.Unlock()
			for j := range p.N {
				for i := range p.M {
					to := byParts[which]
					to.Set(p.Row+i, p.Column+j, to.At(p.Row+i, p.Column+j)+p.Data[i+j*p.Ld]) // once each
				}
			}
			return nil
		}
	}
	onRanks(t, 3, 1, func(w *World) {
		r, err := w.SVD(t.Context(), Func(150, 100, fillFrom(a)), Settings{})
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Free()
		for range 2 {
			j0, j1, u, v, err := r.Columns()
			if err != nil {
				t.Error(err)
				return
			}
			if w0, w1 := w.Rank()*100/3, (w.Rank()+1)*100/3; j0 != w0 || j1 != w1 {
				t.Errorf("rank %d has columns %d to %d", w.Rank(), j0, j1)
			}
			if !mat.Equal(u, part(want.u, j0, j1)) || !mat.Equal(v, part(want.v, j0, j1)) {
				t.Errorf("rank %d has other columns than Gather", w.Rank())
			}
		}
		if err := r.Parts(keep(0), keep(1)); err != nil {
			t.Error(err)
		}
		if err := r.Parts(nil, func(Part) error { return errors.New("no room") }); !isFailure(err, comm.BadResource,
			"no room") {
			t.Errorf("an error of the function is %v", err)
		}
	})
	if !mat.Equal(byParts[0], want.u) || !mat.Equal(byParts[1], want.v) {
		t.Error("Parts gives other vectors")
	}
}

// K and RTol cut, Vectors leaves out; S keeps its bits.
func TestSettings(t *testing.T) {
	a := random(40, 60)
	all := svdOf(t, 2, 1, Settings{}, func(int) Source { return Func(40, 60, fillFrom(a)) })
	var sweeps atomic.Int64 // of both ranks
	f := svdOf(t, 2, 1, Settings{K: 5, Vectors: OnlyV, Swept: func(Sweep) { sweeps.Add(1) }},
		func(int) Source { return Func(40, 60, fillFrom(a)) })
	if !slices.Equal(f.s, all.s[:5]) || f.u != nil {
		t.Errorf("S %v, not %v; U %v", f.s, all.s[:5], f.u)
	}
	if rows, columns := f.v.Dims(); rows != 60 || columns != 5 {
		t.Errorf("V is %d×%d", rows, columns)
	}
	if n := sweeps.Load(); n < 4 || n%2 != 0 {
		t.Errorf("%d sweeps were told", n)
	}
	f = svdOf(t, 2, 1, Settings{RTol: 0.5, Vectors: None}, func(int) Source { return Func(40, 60, fillFrom(a)) })
	if n := len(f.s); n == 0 || n == len(all.s) || !slices.Equal(f.s, all.s[:n]) || !(f.s[n-1] > 0.5*f.s[0]) ||
		all.s[n] > 0.5*all.s[0] || f.u != nil || f.v != nil {
		t.Errorf("S above half of the largest: %v of %v", f.s, all.s)
	}
	depends := mat.NewDense(40, 40, nil) // its last column is the sum of the others
	r := rand.New(rand.NewPCG(1, 2))
	depends.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, depends)
	for i := range 40 {
		depends.Set(i, 39, mat.Sum(depends.Slice(i, i+1, 0, 39)))
	}
	var log strings.Builder
	svdOf(t, 2, 1, Settings{Precision: dist.Float32, Log: &log}, func(int) Source {
		return Func(40, 40, fillFrom(depends))
	})
	if text := log.String(); strings.Count(text, `"message":"sweeps in float64 finish`) != 1 ||
		strings.Count(text, `"step":"multiply"`) != 1 {
		t.Errorf("the log is %q", text)
	}
}

// The hyperbolic SVD, with signs in any order: A = U·S·Vᵀ, and Vᵀ·D·V = J.
func TestHSVD(t *testing.T) {
	const m, n = 50, 30
	a := random(m, n)
	signs := make([]float64, n)
	positive := 0
	for j := range signs {
		if signs[j] = -1; j%3 == 1 {
			signs[j] = 1
			positive++
		}
	}
	onRanks(t, 2, 1, func(w *World) {
		r, err := w.HSVD(t.Context(), Func(m, n, fillFrom(a)), signs, Settings{})
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Free()
		u, v, err := r.Gather(0)
		if err != nil || w.Rank() != 0 {
			return
		}
		if r.Positive != positive || r.Rank != n || !r.Converged {
			t.Errorf("positive %d, rank %d, converged %t", r.Positive, r.Rank, r.Converged)
		}
		var us, usv, rest, dv, j mat.Dense
		us.Mul(u, mat.NewDiagDense(n, r.S))
		usv.Mul(&us, v.T())
		rest.Sub(a, &usv)
		dv.Mul(mat.NewDiagDense(n, signs), v)
		j.Mul(v.T(), &dv)
		for i := range n {
			if i < positive {
				j.Set(i, i, j.At(i, i)-1)
			} else {
				j.Set(i, i, j.At(i, i)+1)
			}
		}
		vv := mat.Norm(v, 2) * mat.Norm(v, 2)
		if e := mat.Norm(&rest, 2); !(e < 1e-14*mat.Norm(a, 2)*vv) {
			t.Errorf("‖A − U·S·Vᵀ‖ = %g", e)
		}
		if e := mat.Norm(&j, 2); !(e < 1e-14*vv) {
			t.Errorf("‖VᵀDV − J‖ = %g, ‖V‖² = %g", e, vv)
		}
	})
}
