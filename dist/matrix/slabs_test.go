package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// tallCase is an m×n matrix, whose columns have some sizes and of which some depend on others.
type tallCase struct {
	name       string
	m, n       int
	element    func(random *rand.Rand, i, j int) float64
	reflectors bool // by which it must be factored
}

func gaussian(random *rand.Rand, _, _ int) float64 { return random.NormFloat64() }

var tallCases = []tallCase{
	{"gauss", 5000, 30, gaussian, false},
	{"one slab", 520, 130, gaussian, false},
	{"several panels", 4500, 150, gaussian, false},
	{"a column", 9000, 1, gaussian, false},
	{"a row", 4, 1, gaussian, false},
	{"of one sign", 6000, 7, func(random *rand.Rand, _, _ int) float64 { return random.Float64() }, false},
	{"small integers", 5102, 2, func(random *rand.Rand, _, _ int) float64 { return float64(random.IntN(3) - 1) },
		false},
	// All terms of a sum are the same but for their signs, so that all roundings go one way.
	{"equal terms", 60000, 6, func(_ *rand.Rand, i, j int) float64 { return float64(1-i>>j&1*2) / 3 }, false},
	{"graded", 5000, 20, func(random *rand.Rand, _, j int) float64 {
		return math.Pow(10, -12*float64(j)) * random.NormFloat64()
	}, false},
	{"nearly dependent", 5000, 100, func(random *rand.Rand, i, j int) float64 {
		return math.Sin(float64(i)) + 1e-3*random.NormFloat64()
	}, true},
	{"dependent", 4500, 70, func(random *rand.Rand, i, j int) float64 {
		return math.Sin(float64(i * (j%50 + 1)))
	}, true},
	{"a column of zeros", 4000, 3, func(random *rand.Rand, i, j int) float64 {
		return float64(j%2) * random.NormFloat64()
	}, true},
	{"zero", 3000, 5, func(*rand.Rand, int, int) float64 { return 0 }, true},
	// Every pivot is fair, and the inverse of the triangular factor is huge (Kahan).
	{"large inverse", 2000, 120, func(_ *rand.Rand, i, j int) float64 {
		c := math.Sqrt(4. / 120)
		row := math.Pow(math.Sqrt(1-c*c), float64(i))
		switch {
		case i == j:
			return row
		case i < j:
			return -c * row
		}
		return 0
	}, true},
}

// TestSlabs reduces tall matrices: Q is orthogonal, Q·R = A column by column, and both have the same bits on
// any ranks and devices.
func TestSlabs(t *testing.T) {
	testSlabs(t, tallCases, func() (kernels.Backend, error) { return disttest.OpenHost(t, 1), nil })
}

// TestFewSlabs does so with few slabs, as GPUs have them.
func TestFewSlabs(t *testing.T) {
	testSlabs(t, tallCases, func() (kernels.Backend, error) { return disttest.OpenApart() })
}

func TestGPUSlabs(t *testing.T) {
	disttest.GPUs(t)
	many := append(slices.Clone(tallCases), tallCase{"many columns", 40000, 200, gaussian, false})
	testSlabs(t, many, disttest.OpenGPU)
}

func testSlabs(t *testing.T, cases []tallCase, open func() (kernels.Backend, error)) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(c.m), uint64(c.n)))
			rows := make([]float64, c.m*c.n)
			for i := range c.m {
				for j := range c.n {
					rows[i*c.n+j] = c.element(random, i, j)
				}
			}
			var q0, r0 []float64
			for _, grid := range [][2]int{{1, 1}, {2, 1}, {1, 2}, {3, 1}, {2, 3}} {
				q, r, leads := reduced(t, c, rows, grid[0], grid[1], open)
				if q0 == nil {
					q0, r0 = q, r
					checkTall(t, c, rows, q, r, leads)
				} else if !slices.Equal(q, q0) || !slices.Equal(r, r0) {
					t.Errorf("other bits on %d ranks with %d devices", grid[0], grid[1])
				}
			}
		})
	}
}

// reduced returns Q and R of a matrix, column-major, with the leads of Q.
func reduced(t *testing.T, c tallCase, rows []float64, ranks, devices int,
	open func() (kernels.Backend, error)) (q, r, leads []float64) {
	q, r = make([]float64, c.m*c.n), make([]float64, c.n*c.n)
	var wg sync.WaitGroup
	for _, world := range comm.NewLocal(ranks) {
		wg.Go(func() {
			all, err := opened(t, devices, open)
			var d *Devices
			if err == nil {
				d, err = NewDevices(world, all, all[0].Limits().HostMemory)
			}
			var found []float64
			if err == nil {
				found, err = reduce(t, d, c, rows, q, r)
			}
			if err != nil {
				t.Error(err)
				world.Abort(1)
			} else if world.Rank() == 0 {
				leads = found
			}
		})
	}
	wg.Wait()
	return q, r, leads
}

// opened returns some devices, which are closed at the end of the test.
func opened(t *testing.T, count int, open func() (kernels.Backend, error)) ([]kernels.Backend, error) {
	var all []kernels.Backend
	for range count {
		be, err := open()
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = be.Close() })
		all = append(all, be)
	}
	return all, nil
}

func reduce(t *testing.T, d *Devices, c tallCase, rows, q, r []float64) (leads []float64, err error) {
	s, err := NewSlabs(d, c.m, c.n)
	if err != nil {
		return nil, err
	}
	_, _, err = s.Read(Source{Threads: 2, Read: func(p Part) error {
		for j := range p.N {
			for i := range p.M {
				p.Data[j*p.Ld+i] = rows[(p.Row+i)*c.n+p.Column+j]
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	x, err := s.Reduce(0)
	if err != nil {
		return nil, err
	}
	x.copyTo(t, r)
	if got := s.reflectors != nil; got != c.reflectors {
		t.Errorf("factored by reflectors: %t", got)
	}
	one, err := d.UnitColumns(c.n, 0, c.n)
	if err != nil {
		return nil, err
	}
	if err := s.Expand(one); err != nil {
		return nil, err
	}
	if err := d.Store(2, s.Sink(func(p Part) error {
		for j := range p.N {
			copy(q[(p.Column+j)*c.m+p.Row:][:p.M], p.Data[j*p.Ld:])
		}
		return nil
	})); err != nil {
		return nil, err
	}
	return s.Leads()
}

// checkTall compares Q·R with A, and QᵀQ with the identity.
func checkTall(t *testing.T, c tallCase, rows, q, r, leads []float64) {
	m, n := c.m, c.n
	a, product := make([]float64, m*n), make([]float64, m*n)
	for i := range m {
		for j := range n {
			a[i+j*m] = rows[i*n+j]
		}
	}
	dense.Product(false, false, m, n, n, 1, q, m, r, n, 0, product, m)
	worst, skew := 0.0, 0.0
	for j := range n {
		for i := j + 1; i < n; i++ {
			if r[i+j*n] != 0 {
				t.Fatalf("R has %g at (%d,%d)", r[i+j*n], i, j)
			}
		}
		norm := kernels.Norm2(a[j*m : (j+1)*m])
		for i := range m {
			product[i+j*m] -= a[i+j*m]
		}
		if d := kernels.Norm2(product[j*m : (j+1)*m]); d > 0 {
			worst = max(worst, d/norm)
		}
		lead := 0.0
		for i, x := range q[j*m : (j+1)*m] {
			if math.IsNaN(x) {
				t.Fatalf("Q has a NaN at (%d,%d)", i, j)
			}
			if math.Abs(x) > math.Abs(lead) {
				lead = x
			}
		}
		if leads[j] != lead {
			t.Errorf("the lead of column %d is %g, want %g", j, leads[j], lead)
		}
	}
	for j := range n {
		for l := j; l < n; l++ {
			hi, lo := 0.0, 0.0 // in twice the precision
			for i := range m {
				x, y := q[i+j*m], q[i+l*m]
				p := x * y
				s := hi + p
				z := s - hi
				lo += (hi - (s - z)) + (p - z) + math.FMA(x, y, -p)
				hi = s
			}
			if j == l {
				hi--
			}
			skew = max(skew, math.Abs(hi+lo))
		}
	}
	t.Logf("A − Q·R %.2g of a column, QᵀQ − I %.2g", worst/kernels.Epsilon, skew/kernels.Epsilon)
	if !(worst <= 40*kernels.Epsilon) || !(skew <= 20*kernels.Epsilon) {
		t.Errorf("A − Q·R is %.2g ε of a column, QᵀQ − I %.2g ε", worst/kernels.Epsilon, skew/kernels.Epsilon)
	}
}

// TestTree deals slabs out to devices: each belongs to one subtree that is on one device.
func TestTree(t *testing.T) {
	for count := 1; count < 40; count++ {
		for devices := 1; devices < 9; devices++ {
			d := &Devices{ranks: make([]int, devices)}
			s := tree{d, count, 1, 1}
			for id := range devices {
				from, to := s.slabsOf(id)
				for slab := range count {
					if in := slab >= from && slab < to; in != (s.deviceOf(slab) == id) {
						t.Fatalf("slab %d of %d on device %d of %d: %t", slab, count, id, devices, in)
					}
				}
			}
			whole, shared := s.parts()
			next := 0
			for _, v := range whole {
				if v.from != next || s.deviceOf(v.from) != s.deviceOf(v.to-1) {
					t.Fatalf("%d slabs on %d devices: %v after %d", count, devices, v, next)
				}
				next = v.to
			}
			if next != count || len(shared) != len(whole)-1 {
				t.Fatalf("%d slabs on %d devices: %v and %v", count, devices, whole, shared)
			}
		}
	}
}

// BenchmarkSlabs times the reduction of a tall matrix and the product Q·U, by Gram matrices and by
// reflectors, on two threads. The rate counts 4·m·n² operations for both together.
func BenchmarkSlabs(b *testing.B) {
	const m, n = 40000, 200
	d, err := NewDevices(comm.NewLocal(1)[0], []kernels.Backend{disttest.OpenHost(b, 2)}, true)
	if err != nil {
		b.Fatal(err)
	}
	for _, dependent := range []bool{false, true} {
		b.Run(fmt.Sprintf("dependent=%t", dependent), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				s, err := NewSlabs(d, m, n)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				_, _, err = s.Read(Source{Read: func(p Part) error {
					for j := range p.N {
						for i := range p.M {
							x := &p.Data[j*p.Ld+i]
							if *x = random.NormFloat64(); dependent && j > 0 {
								*x = p.Data[i]
							}
						}
					}
					return nil
				}})
				b.StartTimer()
				if err != nil {
					b.Fatal(err)
				}
				r, err := s.Reduce(0)
				if err == nil {
					err = s.Expand(r)
				}
				if err == nil {
					err = s.Free()
				}
				r.Free()
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(4*m*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
