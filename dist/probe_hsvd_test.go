package dist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

type silent struct{ bad string }

func (s *silent) Helper()                     {}
func (s *silent) Errorf(f string, a ...any)   { s.bad += fmt.Sprintf(f, a...) + "; " }
func (s *silent) Fatalf(f string, a ...any)   { s.Errorf(f, a...) }

func TestProbeRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	kinds := []string{"gauss", "rows20", "rows60", "pairs", "cols60"}
	again, refused, fail := map[string]int{}, map[string]int{}, map[string]int{}
	hist := map[string][3]float64{}
	for k := range 1500 {
		kind := kinds[k%len(kinds)]
		n := 2 + r.IntN(60)
		m := n + r.IntN(3)
		signs := make([]float64, n)
		for j := range signs {
			signs[j] = float64(1 - 2*r.IntN(2))
		}
		signs[0], signs[1] = 1, -1
		if kind == "pairs" {
			n = n / 2 * 2
			m = n
			signs = signs[:n]
			for j := range n {
				signs[j] = 1
				if j >= n/2 {
					signs[j] = -1
				}
			}
		}
		a := make([]float64, m*n)
		for i := range a {
			a[i] = r.NormFloat64()
		}
		switch kind {
		case "rows20", "rows60":
			d := 20.
			if kind == "rows60" {
				d = 60
			}
			for i := range m {
				f := math.Ldexp(1, -int(d*r.Float64()))
				for j := range n {
					a[i+j*m] *= f
				}
			}
		case "cols60":
			for j := range n {
				f := math.Ldexp(1, -int(60*r.Float64()))
				for i := range m {
					a[i+j*m] *= f
				}
			}
		case "pairs":
			d := math.Pow(10, -2-5*r.Float64())
			for j := range n / 2 {
				for i := range m {
					a[i+(j+n/2)*m] = a[i+j*m] + d*a[i+(j+n/2)*m]
				}
			}
		}
		task := both(m, n)
		task.Signs = signs
		ranks := 1 + r.IntN(4)
		o, err := try(t, a, ranks, 1, task)
		if err != nil {
			refused[kind]++
			fmt.Println("REFUSED", kind, m, n, ranks, err)
			continue
		}
		if o.Fidelity != nil && o.Fidelity.Again != "" {
			again[kind]++; if kind == "rows60" { fmt.Println(o.Fidelity.Again, n, ranks) }
		} else if o.Fidelity != nil {
			h := hist[kind]
			h[0] = max(h[0], o.Fidelity.Columns)
			h[1] = max(h[1], o.Fidelity.Residual)
			h[2] = max(h[2], o.Fidelity.Signs)
			hist[kind] = h
		}
		var s silent
		o.verify(&s, a, 10)
		if s.bad != "" {
			fail[kind]++
			fmt.Println("FAIL", kind, m, n, ranks, s.bad, len(o.Sweeps), o.VNorm*o.VNorm, o.Fidelity)
		}
	}
	fmt.Println("again", again, "refused", refused, "fail", fail, hist)
}
