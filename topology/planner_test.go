package topology

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jmpi/strategy"
)

// The exact optima for reverse R that an independent program has found (slow phases and slow
// block-columns a sweep, free start, all wraps counted), and its upper bounds for 16 devices.
func TestReverseRowCyclic(t *testing.T) {
	for _, c := range []struct {
		nodes, size, sweeps int
		objective           Objective
		periodic            bool
		phases, columns     float64 // 0: not known
		bound               bool    // upper bounds
	}{
		{nodes: 2, size: 1, sweeps: 12, phases: 3, columns: 6},
		{nodes: 2, size: 2, sweeps: 12, phases: 3.5},
		{nodes: 3, size: 2, sweeps: 12, phases: 7.5},
		{nodes: 4, size: 2, sweeps: 12, phases: 7.92},
		{nodes: 2, size: 4, sweeps: 12, phases: 3.92},
		{nodes: 4, size: 4, sweeps: 8, phases: 8.75, bound: true},
		{nodes: 2, size: 8, sweeps: 8, phases: 3.88, bound: true},
		{nodes: 2, size: 2, sweeps: 12, objective: Columns, columns: 14},
		{nodes: 3, size: 2, sweeps: 12, objective: Columns, columns: 39},
		{nodes: 4, size: 2, sweeps: 12, objective: Columns, columns: 63.33},
		{nodes: 2, size: 4, sweeps: 12, objective: Columns, columns: 31.33},
		{nodes: 2, size: 1, sweeps: 12, periodic: true, phases: 3},
		{nodes: 2, size: 2, sweeps: 12, periodic: true, phases: 4},
		{nodes: 3, size: 2, sweeps: 12, periodic: true, phases: 11},
		{nodes: 4, size: 2, sweeps: 12, periodic: true, phases: 8},
		{nodes: 2, size: 4, sweeps: 12, periodic: true, phases: 4},
		{nodes: 4, size: 4, sweeps: 12, periodic: true, phases: 9, bound: true},
	} {
		t.Run(fmt.Sprintf("%dx%d %v periodic=%v", c.nodes, c.size, c.objective, c.periodic), func(t *testing.T) {
			g := c.nodes * c.size
			table := mustTable(t, "rev-rowcyc", 2*g)
			net := mustGroups(t, g, c.size)
			began := time.Now()
			p := mustPlan(t, table, net, Options{Sweeps: c.sweeps, Objective: c.objective, Periodic: c.periodic})
			took := time.Since(began)
			traffic := p.Traffic()
			check := func(what string, count int, want float64) {
				got := float64(count) / float64(c.sweeps)
				if want != 0 && (got > want+0.005 || !c.bound && got < want-0.005) {
					t.Errorf("%s a sweep: %.4f, want %v", what, got, want)
				}
			}
			check("slow phases", traffic.SlowPhases, c.phases)
			check("slow block-columns", traffic.SlowColumns, c.columns)
			if traffic.Phases != c.sweeps*(2*g-1) {
				t.Errorf("%d phases, want %d", traffic.Phases, c.sweeps*(2*g-1))
			}
			if took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// The ring of Brent and Luk moves few columns, in every phase: figures of the same program.
func TestRing(t *testing.T) {
	for _, c := range []struct{ nodes, size, columns, phases int }{{2, 2, 14, 7}, {3, 2, 33, 11}, {4, 2, 60, 15},
		{2, 4, 30, 15}, {2, 8, 62, 31}} {
		g := c.nodes * c.size
		p := mustPlan(t, mustTable(t, "brentluk", 2*g), mustGroups(t, g, c.size),
			Options{Sweeps: 2, Objective: Columns})
		if got := p.Traffic(); got.SlowColumns > 2*c.columns || got.SlowPhases > 2*c.phases {
			t.Errorf("%d×%d: %d slow block-columns in %d slow phases, want at most %d in %d", c.nodes, c.size,
				got.SlowColumns, got.SlowPhases, 2*c.columns, 2*c.phases)
		}
	}
}

// Large plans come from the symmetric choice: figures that the planner has reached, as upper bounds.
func TestLargePlans(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds each")
	}
	for _, c := range []struct {
		nodes, size, sweeps int
		phases              float64
	}{{8, 8, 3, 17.8}, {3, 8, 4, 8}} {
		g := c.nodes * c.size
		began := time.Now()
		p := mustPlan(t, mustTable(t, "rev-rowcyc-expanded", 2*g), mustGroups(t, g, c.size),
			Options{Sweeps: c.sweeps})
		if got := float64(p.Traffic().SlowPhases) / float64(c.sweeps); got > c.phases {
			t.Errorf("%d×%d: %.2f slow phases a sweep, want at most %v", c.nodes, c.size, got, c.phases)
		}
		t.Logf("%d×%d: %v", c.nodes, c.size, time.Since(began))
	}
}

func TestUniformNetworkIsInstant(t *testing.T) {
	net := mustGroups(t, 256, 256)
	table := mustTable(t, "roundrobin", 512)
	began := time.Now()
	p := mustPlan(t, table, net, Options{Sweeps: 30})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if got := p.Traffic(); got.SlowPhases != 0 || got.Phases != 30*511 || got.Columns != 30*511*256 {
		t.Errorf("traffic %+v", got)
	}
}

// Every plan for every table and network is valid, the same each time, continues from its end, and repeats
// its groups if it must.
func TestPlansAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t, 12)
		net := drawNetwork(t, table.N/2)
		o := Options{
			Sweeps:    rapid.IntRange(1, 3).Draw(t, "sweeps"),
			Objective: Objective(rapid.IntRange(0, 2).Draw(t, "objective")),
			Periodic:  rapid.Bool().Draw(t, "periodic"),
		}
		p, err := New(table, net, o)
		if o.Periodic && errors.Is(err, ErrPeriodic) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Validate(table); err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) != o.Sweeps*len(table.Steps) || p.Devices != net.Devices() {
			t.Fatalf("%d steps on %d devices", len(p.Steps), p.Devices)
		}
		for _, step := range p.Steps {
			for _, m := range step.Moves {
				if m.Slow != (net.Level(m.From, m.To) > 0) {
					t.Fatalf("move %+v", m)
				}
			}
		}
		again, err := New(table, net, o)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("another plan the second time: %v", err)
		}
		end := p.End()
		if o.Periodic {
			for i, d := range end {
				if net.Level(d, p.Steps[0].Device[i]) != 0 {
					t.Fatalf("pair %d starts on device %d and ends on %d", i, p.Steps[0].Device[i], d)
				}
			}
		}
		o.Start, o.Periodic = end, false
		next, err := New(table, net, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := next.Validate(table); err != nil || !slices.Equal(next.Steps[0].Device, end) {
			t.Fatalf("continued on %v instead of %v: %v", next.Steps[0].Device, end, err)
		}
	})
}

// All strategies, quasi-cyclic ones included, on networks that fit and that do not.
func TestStrategies(t *testing.T) {
	for _, name := range strategy.Names() {
		for _, order := range []int{2, 4, 8, 12, 16} {
			table, err := strategy.New(name, order)
			if errors.Is(err, strategy.ErrOrder) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{1, 3, 8} {
				mustPlan(t, table, mustGroups(t, order/2, size), Options{Sweeps: 2})
				mustPlan(t, table, mustGroups(t, order/2+3, size), Options{Sweeps: 1, Objective: Link})
			}
		}
	}
}

// Surplus devices stay idle, and the used ones lie close together.
func TestSurplusDevices(t *testing.T) {
	net, err := FromNodes([]string{"a", "b", "b", "b", "b", "b", "c", "c", "c", "c"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		order int
		used  []int
	}{
		{2, []int{0}},                             // the smallest node that holds it
		{6, []int{6, 7, 8}},                       // fits in c
		{10, []int{1, 2, 3, 4, 5}},                // fits in b
		{14, []int{1, 2, 3, 4, 5, 6, 7}},          // b and the rest from c
		{18, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}},    // the largest two
		{20, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}, // all
	} {
		p := mustPlan(t, mustTable(t, "roundrobin", c.order), net, Options{Sweeps: 1})
		for _, step := range p.Steps {
			used := slices.Sorted(slices.Values(step.Device))
			if !slices.Equal(used, c.used) {
				t.Fatalf("order %d uses devices %v, want %v", c.order, used, c.used)
			}
		}
	}
}

// With three levels, Link avoids the dearest one; the number of slow phases may be the same.
func TestLinkAvoidsTheDearestLevel(t *testing.T) {
	levels := []Level{{"node", 1}, {"rack", 5}, {"hall", 100}}
	var paths [][]string
	for d := range 8 {
		paths = append(paths, []string{fmt.Sprint(d / 4), fmt.Sprint(d / 2)})
	}
	net, err := FromPaths(levels, paths)
	if err != nil {
		t.Fatal(err)
	}
	table := mustTable(t, "rev-rowcyc", 16)
	link := measure(mustPlan(t, table, net, Options{Sweeps: 4, Objective: Link}), net, Link)
	phases := measure(mustPlan(t, table, net, Options{Sweeps: 4}), net, Link)
	if !link.less(phases) {
		t.Errorf("cost %v with objective link, %v with phases", link, phases)
	}
	// Between two groups of 4 devices 4 slow phases a sweep suffice, so no more need to cross the hall.
	if hall := link.first / 100; hall > 4*4 {
		t.Errorf("%d phases cross the hall", hall)
	}
}

func TestParseObjective(t *testing.T) {
	for _, o := range []Objective{Phases, Columns, Link} {
		if got, err := ParseObjective(o.String()); got != o || err != nil {
			t.Errorf("%v: %v, %v", o, got, err)
		}
	}
	if _, err := ParseObjective("time"); err == nil {
		t.Error("no error for an unknown name")
	}
}

func TestNewRefuses(t *testing.T) {
	net := mustGroups(t, 4, 2)
	good := mustTable(t, "rev-rowcyc", 8)
	broken := &strategy.Table{Name: "x", N: 4, Steps: [][]strategy.Pair{{{P: 0, Q: 1}, {P: 1, Q: 2}}}}
	short := &strategy.Table{Name: "x", N: 4, Steps: [][]strategy.Pair{{{P: 0, Q: 1}}}}
	for name, c := range map[string]struct {
		table *strategy.Table
		o     Options
	}{
		"odd order":            {mustTable(t, "rev-rowcyc", 7), Options{Sweeps: 1}},
		"order 1":              {mustTable(t, "rev-rowcyc", 1), Options{Sweeps: 1}},
		"too few devices":      {mustTable(t, "rev-rowcyc", 16), Options{Sweeps: 1}},
		"overlapping pairs":    {broken, Options{Sweeps: 1}},
		"missing pair":         {short, Options{Sweeps: 1}},
		"no sweeps":            {good, Options{}},
		"unknown objective":    {good, Options{Sweeps: 1, Objective: 7}},
		"short start":          {good, Options{Sweeps: 1, Start: []int{0, 1, 2}}},
		"start on no device":   {good, Options{Sweeps: 1, Start: []int{0, 1, 2, 4}}},
		"start on one twice":   {good, Options{Sweeps: 1, Start: []int{0, 1, 2, 2}}},
		"start on a negative":  {good, Options{Sweeps: 1, Start: []int{0, 1, 2, -1}}},
		"order above capacity": {mustTable(t, "rev-rowcyc", 10), Options{Sweeps: 1}},
	} {
		if p, err := New(c.table, net, c.o); err == nil {
			t.Errorf("%s: planned %d steps", name, len(p.Steps))
		}
	}
}
