package node

import (
	"testing"

	"jmpi/kernels"
	"jmpi/strategy"

	"pgregory.net/rapid"
)

// visitor is a back end that notes which pairs of columns of the matrix Jacobi visits, on one level.
type visitor struct {
	idle
	column  func(kernels.Panel) int // the first column of the matrix in a panel
	visited map[[2]int]int
	across  int // batches of pairs across
}

func (v *visitor) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	if err := o.Schedule.Check(b, v.limits.PointwiseOrder); err != nil {
		return err
	}
	if b.Across != nil {
		v.across++
	}
	for i, g := range b.G {
		for j := 0; j < len(o.Schedule.Pairs); j += 2 {
			var pair [2]int
			there := true
			for e := range pair {
				at := int(o.Schedule.Pairs[j+e])
				if half := o.Schedule.Order / 2; b.Across != nil && at >= half {
					at += g.P.N - half
				} else if b.Across != nil && at >= g.P.N {
					there = false
				}
				if pair[e] = v.column(g.P) + at; at >= g.P.N {
					pair[e] = v.column(g.Q) + at - g.P.N
				}
				there = there && at < b.R[i].N
			}
			if there {
				v.visited[pair]++
			}
		}
	}
	return nil
}

// TestAllPairsAreVisited runs a sweep of every strategy: all pairs of columns are visited, those of different
// block-columns once. Pairs across are visited alone where one inner sweep does, of the SVD, there are enough
// block-columns, and the strategy has such p-steps.
func TestAllPairsAreVisited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 150).Draw(t, "n")
		l := NewLayout(n, 1, rapid.IntRange(2, 20).Draw(t, "width"), 0)
		c := Config{M: n, Layout: l, Positive: n, Strategy: rapid.SampledFrom(strategy.Names()).Draw(t, "strategy"),
			Sweeps: rapid.SampledFrom([]int{1, 1, 1, FewSweeps}).Draw(t, "sweeps")}
		if rapid.IntRange(0, 3).Draw(t, "signs") == 0 {
			c.Positive = n / 2
		}
		v := &visitor{idle: idle{limits: kernels.Limits{PointwiseOrder: 128, Align: 1}}, visited: map[[2]int]int{}}
		d, err := NewDevice(v, c)
		if err != nil {
			t.Fatal(err)
		}
		v.column = func(p kernels.Panel) int {
			for i, s := range d.slots[:2] {
				if at := int(p.Data-s.G.Data) / (8 * s.G.Ld); p.Data >= s.G.Data && at < s.G.N {
					return l.Start(i*l.PerMacro) + at
				}
			}
			t.Fatalf("panel %+v is in no slot", p)
			return -1
		}
		d.SetColumn(0, 0)
		d.SetColumn(1, 1)
		program, err := NewProgram(c.Strategy, l)
		if err != nil {
			t.Fatal(err)
		}
		for step, pairs := range program.Macro[0].Fine {
			if err := d.Run(step, pairs); err != nil {
				t.Fatal(err)
			}
		}
		block := make([]int, n)
		for j := range l.Columns {
			for i := l.Start(j); i < l.Start(j+1); i++ {
				block[i] = j
			}
		}
		quasi := program.SubSteps() > l.Columns-1 // some pairs meet twice
		for q := range n {
			for p := range q {
				times, least := v.visited[[2]int{p, q}], 1
				if times < least || block[p] != block[q] && times > 1 && !quasi {
					t.Fatalf("columns %d and %d, of block-columns %d and %d, are visited %d times", p, q, block[p],
						block[q], times)
				}
			}
		}
		for pair := range v.visited {
			if pair[0] >= pair[1] {
				t.Fatalf("pair %v is not in the order of the columns", pair)
			}
		}
		want := 0
		if table, err := d.rec.schedules.pointwiseAcross(2 * l.Width()); err != nil {
			t.Fatal(err)
		} else if table != nil && c.Sweeps == 1 && c.Positive == n && l.Columns >= fewestColumns {
			for step := range program.SubSteps() {
				if step%allPairsEvery != 0 {
					want++
				}
			}
		}
		if v.across != want {
			t.Fatalf("%d batches of pairs across of %d, want %d", v.across, program.SubSteps(), want)
		}
	})
}

// TestPairsAcross tests which strategies tell pairs across apart.
func TestPairsAcross(t *testing.T) {
	for _, name := range strategy.Names() {
		for _, k := range []int{2, 8, 40, 128} {
			s, err := newSchedules(name).pointwiseAcross(k)
			if err != nil {
				t.Fatal(err)
			}
			half := pointwiseOrder(k) / 2
			switch name {
			case "brentluk", "mmstep", "roundrobin":
				if k > 2 && s != nil {
					t.Errorf("%s of order %d has p-steps of pairs across alone", name, k)
				}
				continue
			}
			if s == nil {
				t.Errorf("%s of order %d has no p-steps of pairs across", name, k)
				continue
			}
			met := map[[2]int32]bool{}
			for i := 0; i < len(s.Pairs); i += 2 {
				p, q := s.Pairs[i], s.Pairs[i+1]
				if int(p) >= half || int(q) < half {
					t.Errorf("%s of order %d: pair (%d,%d)", name, k, p, q)
				}
				met[[2]int32{p, q}] = true
			}
			if err := s.Disjoint(); err != nil || len(met) != half*half {
				t.Errorf("%s of order %d: %d pairs, %v", name, k, len(met), err)
			}
		}
	}
}
