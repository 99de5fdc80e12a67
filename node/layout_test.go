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
		most := rapid.SampledFrom([]int{0, 1, 64, 200}).Draw(t, "most")
		l := NewLayout(n, devices, width, most)
		if l.Macros != 2*devices || l.Columns != l.Macros*l.PerMacro {
			t.Fatalf("%+v for %d devices", l, devices)
		}
		if c := l.PerMacro / l.Parts; c&(c-1) != 0 || c*l.Parts != l.PerMacro {
			t.Fatalf("%+v: want a power of two, %d times, of narrow block-columns in a macro one", l, l.Parts)
		}
		if most > 0 && l.Width() > most {
			t.Fatalf("%+v: block-columns are wider than %d", l, most)
		}
		if same, ok := l.With(l.Ordering); !ok || same != l {
			t.Fatalf("%+v, and of as many block-columns %+v, %v", l, same, ok)
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

// No width is far from what is asked for, unless there are few block-columns.
func TestLayoutIsNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 100).Draw(t, "width")
		n := rapid.IntRange(24*width, 300*width).Draw(t, "n")
		if w := NewLayout(n, 1, width, 0).Width(); 7*w < 6*width-7 || 6*w > 7*width+6 {
			t.Errorf("n = %d: width %d, want about %d", n, w, width)
		}
		if w := NewLayout(n, 1, width, width).Width(); 4*w < 3*width-4 || w > width {
			t.Errorf("n = %d: width %d, want at most %d", n, w, width)
		}
	})
}

// No layout has more block-columns than a strategy, where fewer will do.
func TestLayoutOfHugeMatrices(t *testing.T) {
	for _, c := range []struct{ n, devices, width, most int }{{600000, 1, 32, 64}, {1100000, 8, 64, 64},
		{1100000, 3, 64, 64}, {20000, 1, 1, 0}, {1 << 40, 512, 64, 64}} {
		l := NewLayout(c.n, c.devices, c.width, c.most)
		if l.Columns > strategy.MaxOrder || l.Columns < strategy.MaxOrder/2 {
			t.Errorf("%+v: %+v", c, l)
		}
	}
}

// A layout takes up an ordering that its devices can have, no other.
func TestLayoutWith(t *testing.T) {
	for o, want := range map[Ordering]int{{}: 0, {4, 0}: 0, {0, 1}: 0, {3, 1}: 0, {4, 1}: 1, {6, 1}: 0,
		{8, 1}: 2, {12, 1}: 0, {12, 3}: 3, {20, 5}: 5, {24, 3}: 6, {24, 1}: 0, {28, 7}: 7,
		{36, 3}: 0, {2048, 1}: 512} {
		l, ok := NewLayout(1000, 2, 32, 0).With(o)
		if ok != (want > 0) || ok && (l.Ordering != o || l.PerMacro != want) {
			t.Errorf("%+v on two devices: %+v, %v", o, l, ok)
		}
	}
}

// 1, 2, 4, 8 devices run the same ordering.
func TestLayoutOfPowersOfTwo(t *testing.T) {
	for _, n := range []int{512, 1000, 1024, 1500, 1600, 2048, 3000} {
		want := NewLayout(n, 1, 32, 0).Columns
		for _, devices := range []int{2, 4, 8} {
			if got := NewLayout(n, devices, 32, 0).Columns; got != want {
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
		for _, c := range [][2]int{{40, 1}, {80, 2}, {120, 3}, {160, 4}, {200, 5}, // columns, devices
			{120, 1}, {200, 2}, {240, 4}, {720, 3}} {
			n, devices := c[0], c[1]
			l := NewLayout(n, devices, 5, 0)
			if divided := n > 40*devices; (l.Parts > 1) != divided {
				t.Fatalf("%d columns on %d devices: %+v", n, devices, l)
			}
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
// of devices executes the same p-steps in the same order. So does what is divided.
func TestProgramOfPowersOfTwoIsReverseR(t *testing.T) {
	for _, parts := range parts {
		want, err := strategy.New("rev-rowcyc", 32)
		if err == nil {
			want, err = want.Divide(parts)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, devices := range []int{1, 2, 4, 8, 16} {
			p, err := NewProgram("rev-rowcyc", NewLayout(512*parts, devices, 16, 0))
			if err != nil {
				t.Fatal(err)
			}
			var got [][]strategy.Pair
			for _, m := range p.Macro {
				got = append(got, m.Fine...)
			}
			if !reflect.DeepEqual(got, want.Steps) {
				t.Errorf("%d devices execute another ordering of %d block-columns", devices, want.N)
			}
		}
	}
}
