package matrix

import (
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/dense"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// decomposed factors s, and tells which column of R each column has become.
func decomposed(s *Matrix, pivot bool) (q *Orthogonal, place []int, err error) {
	if pivot {
		q, place, _, _, err = FactorPivoted(s, dense.Noise{}, false)
		return q, place, err
	}
	q, err = Factor(s)
	return q, Natural(s.N), err
}

// TestFactorIndependent makes a column of some depend on the others.
func TestFactorIndependent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m, n := rapid.IntRange(2, 800).Draw(rt, "m"), rapid.IntRange(2, 800).Draw(rt, "n")
		dependent := rapid.IntRange(-1, n-1).Draw(rt, "dependent") // -1: none
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 1})
		if dependent >= 0 {
			of := (dependent + rapid.IntRange(1, n-1).Draw(rt, "of")) % n
			copy(a[dependent*m:(dependent+1)*m], a[of*m:(of+1)*m])
			dependent = max(dependent, of)
		}
		want := dependent < 0 || dependent >= m
		for _, comm := range comm.NewLocal(1) {
			s := of(t, sending(t, comm, 2, true), m, n, a)
			tol := slices.Repeat([]float64{1e-12 * math.Sqrt(float64(m))}, n)
			switch q, got, err := FactorIndependent(s, tol); {
			case err != nil:
				rt.Fatal(err)
			case got != want:
				rt.Fatalf("columns independent: %v, want %v", got, want)
			case got && q.Count() != min(m, n):
				rt.Fatalf("%d columns were factored, want %d", q.Count(), min(m, n))
			}
		}
	})
}

// broad is a device apart whose blocks are so wide that they have several panels.
type broad struct{ *disttest.Apart }

func (broad) Limits() kernels.Limits {
	return kernels.Limits{Tile: 150, Align: 16}
}

// TestFactorTogether factors blocks of several panels, and applies their reflectors together.
func TestFactorTogether(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m, n := rapid.IntRange(1, 1400).Draw(rt, "m"), rapid.IntRange(1, 400).Draw(rt, "n")
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 1})
		for devices := 1; devices <= 2; devices++ {
			all, closeAll := openSeveral(t, devices, func() (kernels.Backend, error) {
				be, err := disttest.OpenApart()
				return broad{be}, err
			})
			defer closeAll()
			d, err := NewDevices(comm.NewLocal(1)[0], all, true)
			if err != nil {
				rt.Fatal(err)
			}
			s := of(t, d, m, n, a)
			q, err := Factor(s)
			if err == nil {
				err = s.EachBlock(func(j0, j1 int, x []float64) error {
					for j := j0; j < j1; j++ {
						for i := j + 1; i < m; i++ {
							if e := x[i+(j-j0)*m]; e != 0 {
								rt.Fatalf("R has %g at (%d,%d)", e, i, j)
							}
						}
					}
					return nil
				})
			}
			if q.Count() != min(m, n) {
				rt.Fatalf("%d reflectors", q.Count())
			}
			r := make([]float64, m*n)
			s.copyTo(t, r)
			got, back := make([]float64, m*n), make([]float64, m*n)
			if err == nil {
				err = q.Apply(s)
			}
			s.copyTo(t, got)
			if err == nil {
				err = q.applyTransposed(s)
			}
			s.copyTo(t, back)
			if err != nil {
				rt.Fatal(err)
			}
			for i := range a {
				if e, f := math.Abs(got[i]-a[i]), math.Abs(back[i]-r[i]); !(e < 1e-12 && f < 1e-12) {
					rt.Fatalf("%d devices: at %d Q·R is off by %g, QᵀQ·R by %g", devices, i, e, f)
				}
			}
			q.Free()
			s.Free()
			if err := d.Free(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func TestFactor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.IntRange(1, 200).Draw(rt, "m")
		n := rapid.IntRange(1, 200).Draw(rt, "n")
		pivot := rapid.Bool().Draw(rt, "pivot")
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n),
			Seed: rapid.Uint64Range(0, 9).Draw(rt, "seed")})
		var first []float64
		for _, grid := range [][3]int{{1, 1, 1}, {3, 1, 1}, {1, 2, 1}, {2, 2, 1}, {5, 1, 1}, {3, 1, 0}, {2, 2, 0}} {
			ranks, devices, direct := grid[0], grid[1], grid[2] == 1
			qr := make([]float64, m*n) // Q·R, with the columns of A in their places
			var wg sync.WaitGroup
			for _, comm := range comm.NewLocal(ranks) {
				wg.Go(func() {
					s := of(t, sending(t, comm, devices, direct), m, n, a)
					q, place, err := decomposed(s, pivot)
					if err == nil {
						err = s.EachBlock(func(j0, j1 int, x []float64) error {
							for j := j0; j < j1; j++ {
								for i := place[j] + 1; i < m; i++ {
									if e := x[i+(j-j0)*m]; e != 0 {
										t.Errorf("R has %g at row %d of its column %d", e, i, place[j])
									}
								}
							}
							return nil
						})
					}
					if err == nil {
						err = q.Apply(s)
					}
					if err != nil {
						t.Error(err)
						comm.Abort(1)
						return
					}
					s.copyTo(t, qr)
				})
			}
			wg.Wait()
			for i := range a {
				if d := math.Abs(qr[i] - a[i]); !(d < 1e-12) {
					rt.Fatalf("Q·R is off by %g on %v at %d", d, grid, i)
				}
			}
			if first == nil {
				first = qr
			} else if !slices.Equal(first, qr) {
				rt.Fatalf("other bits on %d ranks with %d devices", ranks, devices)
			}
		}
	})
}
