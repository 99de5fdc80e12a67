package node

import (
	"reflect"
	"testing"

	"jmpi/strategy"

	"pgregory.net/rapid"
)

// Widths differ by at most one and cover the matrix, for any shape and any number of devices.
func TestLayoutCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(t, "n")
		devices := rapid.IntRange(1, 17).Draw(t, "devices")
		width := rapid.IntRange(1, 200).Draw(t, "width")
		l := NewLayout(n, devices, width)
		if l.Macros != 2*devices || l.Columns != l.Macros*l.PerMacro {
			t.Fatalf("%+v for %d devices", l, devices)
		}
		if c := l.PerMacro; c&(c-1) != 0 {
			t.Fatalf("%d narrow block-columns in a macro one, want a power of two", c)
		}
		if l.Start(0) != 0 || l.Start(l.Columns) != n {
			t.Fatalf("columns %d to %d, want 0 to %d", l.Start(0), l.Start(l.Columns), n)
		}
		for j := range l.Columns {
			if w := l.Start(j+1) - l.Start(j); w > l.Width() || w < l.Width()-1 {
				t.Fatalf("block-column %d has width %d, others %d", j, w, l.Width())
			}
		}
	})
}

// 1, 2, 4, 8 devices run the same ordering.
func TestLayoutOfPowersOfTwo(t *testing.T) {
	for _, n := range []int{512, 1000, 1024, 2048} {
		want := NewLayout(n, 1, 32).Columns
		for _, devices := range []int{2, 4, 8} {
			if got := NewLayout(n, devices, 32).Columns; got != want {
				t.Errorf("n = %d: %d block-columns on %d devices, %d on one", n, got, devices, want)
			}
		}
	}
}

// The program of any strategy and number of devices executes a sweep: every pair exactly once (mmstep:
// at least once), the pairs of a sub-step disjoint, and each within the macro block-columns that its
// macro step puts together.
func TestProgramIsASweep(t *testing.T) {
	for _, name := range strategy.Names() {
		for _, devices := range []int{1, 2, 3, 4, 5} {
			l := NewLayout(40*devices, devices, 5)
			p, err := NewProgram(name, l)
			if name == "br" && (devices == 3 || devices == 5) {
				if err == nil {
					t.Errorf("br exists for %d devices", devices)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s on %d devices: %v", name, devices, err)
				continue
			}
			checkSweep(t, p, name == "mmstep")
		}
	}
}

func checkSweep(t *testing.T, p *Program, quasi bool) {
	t.Helper()
	l := p.Layout
	count := map[strategy.Pair]int{}
	for s, m := range p.Macro {
		together := map[[2]int]bool{}
		for _, o := range p.Outer.Steps[s] {
			together[[2]int{o.P, o.Q}] = true
			together[[2]int{o.P, o.P}], together[[2]int{o.Q, o.Q}] = true, true
		}
		for _, fine := range m.Fine {
			busy := map[int]bool{}
			for _, pair := range fine {
				if busy[pair.P] || busy[pair.Q] || pair.P >= pair.Q {
					t.Fatalf("%s: sub-step %v is not disjoint", p.Outer.Name, fine)
				}
				busy[pair.P], busy[pair.Q] = true, true
				if l.Macros > 2 && !together[[2]int{pair.P / l.PerMacro, pair.Q / l.PerMacro}] {
					t.Fatalf("%s: pair %v in macro step %v", p.Outer.Name, pair, p.Outer.Steps[s])
				}
				count[pair]++
			}
		}
	}
	if len(count) != l.Columns*(l.Columns-1)/2 {
		t.Fatalf("%s: %d pairs of %d block-columns", p.Outer.Name, len(count), l.Columns)
	}
	for pair, n := range count {
		if n != 1 && !quasi {
			t.Fatalf("%s: pair %v %d times", p.Outer.Name, pair, n)
		}
	}
}

// [Nov15, §3]: for powers of two the expansion of the reverse of R is the reverse of R, so that every number
// of devices executes the same p-steps in the same order.
func TestProgramOfPowersOfTwoIsReverseR(t *testing.T) {
	want, err := strategy.New("rev-rowcyc", 32)
	if err != nil {
		t.Fatal(err)
	}
	for _, devices := range []int{1, 2, 4, 8, 16} {
		p, err := NewProgram("rev-rowcyc", NewLayout(512, devices, 16))
		if err != nil {
			t.Fatal(err)
		}
		var got [][]strategy.Pair
		for _, m := range p.Macro {
			got = append(got, m.Fine...)
		}
		if !reflect.DeepEqual(got, want.Steps) {
			t.Errorf("%d devices execute another ordering", devices)
		}
	}
}
