package strategy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustNew(t testing.TB, name string, n int) *Table {
	t.Helper()
	table, err := New(name, n)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// flat returns the pairs of all p-steps one after the other.
func flat(t *Table) []Pair { return slices.Concat(t.Steps...) }

// drawTable draws a table of any name and of an order for which it exists.
func drawTable(rt *rapid.T, orders *rapid.Generator[int]) *Table {
	name := rapid.SampledFrom(Names()).Draw(rt, "name")
	if name == "br" {
		orders = rapid.SampledFrom([]int{1, 2, 4, 8, 16, 32, 64})
	}
	n := orders.Draw(rt, "n")
	table, err := New(name, n)
	if err != nil {
		rt.Fatal(err)
	}
	if table.Name != name || table.N != n {
		rt.Fatalf("New(%s, %d) is called %s of order %d", name, n, table.Name, table.N)
	}
	return table
}

// quasiCyclic says which tables may meet a pair twice.
func quasiCyclic(t *Table) bool { return strings.Contains(t.Name, "mmstep") && t.N%2 == 0 }

// rules checks the definition of a p-strategy by counting, apart from Validate.
func rules(t *Table) error {
	n := t.N
	count := map[Pair]int{}
	for s, step := range t.Steps {
		indices := map[int]bool{}
		for _, p := range step {
			count[p]++
			indices[p.P], indices[p.Q] = true, true
		}
		if len(step) != n/2 || len(indices) != 2*len(step) {
			return fmt.Errorf("p-step %d is %v", s, step)
		}
	}
	for p := range n {
		for q := p + 1; q < n; q++ {
			c := count[Pair{p, q}]
			if c < 1 || c > 1 && !quasiCyclic(t) {
				return fmt.Errorf("(%d,%d) is met %d times", p, q, c)
			}
			delete(count, Pair{p, q})
		}
	}
	if len(count) > 0 {
		return fmt.Errorf("these are no pairs: %v", count)
	}
	return nil
}

func TestEveryTableIsAStrategy(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := drawTable(rt, rapid.IntRange(1, 64))
		if err := rules(table); err != nil {
			rt.Error(err)
		}
		if err := table.Validate(); err != nil {
			rt.Error(err)
		}
		steps := table.N - 1
		if table.N%2 == 1 && table.N > 1 || table.Name == "mmstep" && table.N > 1 {
			steps = table.N
		}
		if len(table.Steps) != steps {
			rt.Errorf("%d p-steps, want %d", len(table.Steps), steps)
		}
	})
}

func TestReverseTurnsThePairs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := drawTable(rt, rapid.IntRange(1, 40))
		r := table.Reverse()
		if err := r.Validate(); err != nil {
			rt.Error(err)
		}
		want := flat(table)
		slices.Reverse(want)
		if !slices.Equal(flat(r), want) {
			rt.Error("the reverse does not meet the pairs in the opposite order")
		}
		if back := r.Reverse(); back.Name != table.Name || back.String() != table.String() {
			rt.Errorf("the reverse of the reverse of %s is another table, %s", table.Name, back.Name)
		}
		if other, err := New(r.Name, table.N); err == nil && other.String() != r.String() {
			rt.Errorf("New(%s) is another table", r.Name)
		}
	})
}

func TestExpandIsAStrategyOfBlocks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		even := rapid.Map(rapid.IntRange(1, 20), func(h int) int { return 2 * h })
		table := drawTable(rt, even)
		once, err := table.Expand()
		if err != nil {
			rt.Fatal(err)
		}
		twice, err := once.Expand()
		if err != nil {
			rt.Fatal(err)
		}
		for _, e := range []*Table{once, twice} {
			if err := rules(e); err != nil {
				rt.Errorf("%s of order %d: %v", e.Name, e.N, err)
			}
			if err := e.Validate(); err != nil {
				rt.Error(err)
			}
		}
		if twice.N != 4*table.N || twice.Name != once.Name {
			rt.Errorf("two expansions give %s of order %d", twice.Name, twice.N)
		}
	})
}

// TestDivide tests that dividing gives a strategy of blocks: its p-steps inside the blocks come first (last
// if it is reversed), and each of the others has the pairs of blocks of one p-step of the table before.
func TestDivide(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := drawTable(rt, rapid.SampledFrom([]int{2, 4, 6, 8, 10, 12, 16, 22, 24}))
		if table.N == 1 {
			return
		}
		parts := rapid.SampledFrom([]int{1, 3, 5, 7, 9}).Draw(rt, "parts")
		d, err := table.Divide(parts)
		if err != nil {
			rt.Fatal(err)
		}
		if err := d.Validate(); err != nil {
			rt.Fatal(err)
		}
		if d.N != parts*table.N || d.Name != table.Name {
			rt.Fatalf("%s of order %d", d.Name, d.N)
		}
		if turned, err := table.Reverse().Divide(parts); err != nil || turned.String() != d.Reverse().String() {
			rt.Fatalf("the division of the reverse is not the reverse of the division (%v)", err)
		}
		steps := d.Steps
		if table.kind.reversed {
			steps = d.Reverse().Steps
			table = table.Reverse()
		}
		met := map[Pair]int{}
		for s, step := range steps {
			for _, p := range step {
				met[p]++
				b := Pair{p.P / parts, p.Q / parts}
				inside := parts > 1 && s < parts
				if inside != (b.P == b.Q) || !inside && !slices.Contains(table.Steps[s/parts-min(1, parts/2)], b) {
					rt.Fatalf("p-step %d of %d has %v", s, len(steps), p)
				}
			}
		}
		if len(met) != d.N*(d.N-1)/2 {
			rt.Fatalf("%d pairs of %d indices", len(met), d.N)
		}
	})
}

func TestDivideRefuses(t *testing.T) {
	even, odd := mustNew(t, "rowcyc", 8), mustNew(t, "rowcyc", 7)
	divided, err := even.Divide(3)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() (*Table, error){
		"by an even number": func() (*Table, error) { return even.Divide(2) },
		"by none":           func() (*Table, error) { return even.Divide(0) },
		"by less":           func() (*Table, error) { return even.Divide(-3) },
		"an odd order":      func() (*Table, error) { return odd.Divide(3) },
		"twice":             func() (*Table, error) { return divided.Divide(3) },
		"then expanded":     func() (*Table, error) { return divided.Expand() },
		"too large":         func() (*Table, error) { return even.Divide(MaxOrder/8 + 1) },
	} {
		if got, err := f(); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestValidateFindsFaults(t *testing.T) {
	faults := map[string]func(*Table){
		"order 0":         func(t *Table) { t.N = 0 },
		"p-step missing":  func(t *Table) { t.Steps = t.Steps[1:] },
		"p-step twice":    func(t *Table) { t.Steps[1] = t.Steps[0] },
		"pair missing":    func(t *Table) { t.Steps[2] = t.Steps[2][1:] },
		"p > q":           func(t *Table) { p := &t.Steps[0][0]; p.P, p.Q = p.Q, p.P },
		"p = q":           func(t *Table) { t.Steps[0][0].P = t.Steps[0][0].Q },
		"index too large": func(t *Table) { t.Steps[0][0].Q = t.N },
		"index negative":  func(t *Table) { t.Steps[0][0].P = -1 },
		"pairs collide":   func(t *Table) { t.Steps[0][1] = Pair{0, 5} },
		"a pair is unmet": func(t *Table) {
			t.kind.quasi = true
			t.Steps = append(t.Steps[1:], t.Steps[1], t.Steps[1])
		},
		"mmstep as cyclic": func(t *Table) { *t = Table{N: 8, Steps: modulus(8)[:7]} },
	}
	for name, damage := range faults {
		t.Run(name, func(t *testing.T) {
			table := mustNew(t, "rowcyc", 8)
			damage(table)
			if err := table.Validate(); !errors.Is(err, ErrInvalid) {
				t.Errorf("Validate returns %v", err)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		want error
	}{
		{"nonsense", 8, ErrName},
		{"", 8, ErrName},
		{"rowcyc", 0, ErrOrder},
		{"rowcyc", -2, ErrOrder},
		{"brentluk", MaxOrder + 1, ErrOrder},
		{"br", 6, ErrOrder},
		{"br", 7, ErrOrder},
	} {
		if _, err := New(c.name, c.n); !errors.Is(err, c.want) {
			t.Errorf("New(%q, %d) returns %v, want %v", c.name, c.n, err, c.want)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, table := range []*Table{mustNew(t, "rowcyc", 7), {Name: "large", N: MaxOrder}} {
		if _, err := table.Expand(); !errors.Is(err, ErrOrder) {
			t.Errorf("Expand of %s, order %d, returns %v", table.Name, table.N, err)
		}
	}
}

// A spent search must end with an error instead of a wrong table.
func TestSearchGivesUp(t *testing.T) {
	g := newRemaining(rowCyclic, 30)
	g.effort = 1000
	if steps, ok := g.generate(nil); ok {
		t.Errorf("found %d p-steps with an effort that cannot suffice", len(steps))
	}
}

// TestSearchIsQuick holds the bounds of the search: 0.1 s at n = 30, 2 s at every even n ≤ 128. An edge takes
// some nanoseconds to look at; the edges are counted, so that a busy machine cannot fail the test.
func TestSearchIsQuick(t *testing.T) {
	const edgesPerSecond = 100_000_000
	for n := 2; n <= 128; n += 2 {
		for _, s := range []sequence{rowCyclic, columnCyclic} {
			g := newRemaining(s, n)
			if _, ok := g.generate(nil); !ok {
				t.Fatalf("sequence %d, n = %d: no strategy found", s, n)
			}
			limit := int64(2 * edgesPerSecond)
			if n <= 30 {
				limit = edgesPerSecond / 10
			}
			if looked := searchEffort - g.effort; looked > limit {
				t.Errorf("sequence %d, n = %d: %d edges looked at, limit %d", s, n, looked, limit)
			}
		}
	}
	start := time.Now()
	mustNew(t, "rowcyc", 30)
	if d := time.Since(start); d > time.Second { // ten times the bound
		t.Errorf("rowcyc 30 took %v", d)
	}
}
