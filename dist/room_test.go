package dist

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// apart runs Decompose on ranks with one device each, whose memory is not that of the host and is so large,
// and returns the devices too.
func apart(t *testing.T, a []float64, ranks int, room int64, task Task) (solved, []*disttest.Apart, error) {
	t.Helper()
	var mu sync.Mutex
	var all []*disttest.Apart
	o, err := tryOn(t, a, ranks, task, func() ([]kernels.Backend, error) {
		d, err := disttest.OpenApart()
		d.Room = room
		mu.Lock()
		defer mu.Unlock()
		all = append(all, d)
		return []kernels.Backend{d}, err
	})
	return o, all, err
}

// A device takes no more memory than was estimated, and not much less.
func TestDevicesTakeWhatWasEstimated(t *testing.T) {
	lowFrom(t, 400)
	for _, c := range []struct {
		kind  string
		m, n  int
		p     Preconditioner
		v     RightVectors
		least float64 // share of the estimate that is taken on one device
	}{
		{"gauss", 500, 500, AutoPreconditioner, AutoRight, 0.95},
		{"gauss", 500, 500, NoPreconditioner, Accumulate, 0.95},
		{"gauss", 500, 500, NoPreconditioner, FromLeft, 0.95},
		{"gauss", 500, 500, QR, AutoRight, 0.9},
		{"graded-rows", 500, 500, AutoPreconditioner, AutoRight, 0.75},
		{"graded-rows", 500, 500, QRCPLQ, AutoRight, 0.9},
		{"graded-cols", 500, 500, QRCPLQ, FromLeft, 0.8},           // other graded matrices need more
		{"lowrank", 500, 500, AutoPreconditioner, AutoRight, 0.35}, // X is smaller than was expected
		{"gauss", 6200, 60, AutoPreconditioner, AutoRight, 0.9},
		{"lowrank", 6200, 60, AutoPreconditioner, AutoRight, 0.85},
	} {
		a := disttest.Generate(t, c.kind, gen.Options{Rows: int64(c.m), Cols: int64(c.n), Seed: 3})
		for ranks := 1; ranks <= 3; ranks++ {
			task := both(c.m, c.n)
			task.Precondition, task.V = c.p, c.v
			o, devices, err := apart(t, a, ranks, 1<<40, task)
			if err != nil {
				t.Fatal(err)
			}
			o.verify(t, a, 4)
			want := o.DeviceBytes
			least := c.least
			if ranks > 1 { // devices have not all the same: of four slabs one of three devices has two
				least -= 0.4
			}
			for i, d := range devices {
				share := float64(d.Peak) / float64(want)
				t.Logf("%s, %s, V by %s, device %d of %d: %.2f of %d bytes", c.kind, o.Precondition.Used, o.V.Used, i,
					ranks, share, want)
				if !(share <= 1 && share >= least) {
					t.Errorf("%s, %s, V by %s, device %d of %d: %d bytes, estimated %d", c.kind, o.Precondition.Used,
						o.V.Used, i, ranks, d.Peak, want)
				}
			}
		}
	}
}

// Where memory is short all sweeps are in float64; where it is shorter V is carried, and where it is
// shorter the matrix is read twice. The singular values keep their bits. With less there is one line that
// says how many devices would do.
func TestLessRoom(t *testing.T) {
	lowFrom(t, 2)
	const n = 400
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 4})
	for ranks := 1; ranks <= 2; ranks++ {
		need := func(w ways) int64 {
			w.precondition, w.vectors = NoPreconditioner, true
			d, err := disttest.OpenApart()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			return w.footprint(both(n, n), ranks, d.Limits()).Device
		}
		refine, solve, carry, reread := need(ways{v: Refined, ladder: true}), need(ways{v: FromLeft}),
			need(ways{v: Accumulate}), need(ways{v: Accumulate, reread: true})
		var first solved
		for _, c := range []struct {
			room int64
			v    string
		}{{refine, "refined"}, {solve, "solve"}, {carry, "accumulate"}, {reread, "accumulate"}} {
			o, devices, err := apart(t, a, ranks, c.room, both(n, n))
			if err != nil {
				t.Fatal(err)
			}
			o.verify(t, a, 4)
			if again := strings.Contains(o.Precondition.Why, "read twice"); again != (c.room == reread) {
				t.Errorf("%d bytes on %d devices: %+v", c.room, ranks, o.Precondition)
			}
			if o.V.Used != c.v {
				t.Errorf("%d bytes on %d devices: V by %s (%s), want %s", c.room, ranks, o.V.Used, o.V.Why, c.v)
			}
			for _, d := range devices {
				if d.Peak > c.room {
					t.Errorf("%d bytes on %d devices: %d were taken", c.room, ranks, d.Peak)
				}
			}
			if c.v == "refined" {
				continue // the others are of sweeps in float64
			}
			if first.s == nil {
				first = o
			} else if !slices.Equal(first.s, o.s) {
				t.Errorf("%d bytes on %d devices: other singular values", c.room, ranks)
			}
		}
		_, _, err := apart(t, a, ranks, reread-1, both(n, n))
		if err == nil || !strings.Contains(err.Error(), "devices would do") {
			t.Errorf("too little on %d devices: %v", ranks, err)
		}
	}
}

// Where columns of one pivot depend on each other, it breaks down at once. Then the matrix is preconditioned
// after all, also where its singular values do not decay.
func TestBrokenPivotsStartAgain(t *testing.T) {
	const n, rank = 96, 88
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 5})
	copy(a[:(n-rank)*n], a[(n-rank)*n:]) // columns come twice
	for ranks := 1; ranks <= 2; ranks++ {
		task := both(n, n)
		task.Block = 32
		o := find(t, a, ranks, 1, task)
		if o.Precondition.Used != "qrcp-lq" || !strings.Contains(o.Precondition.Why, "pivots broke down") {
			t.Errorf("on %d ranks: %+v", ranks, o.Precondition)
		}
		if o.Rank.Value != rank {
			t.Errorf("on %d ranks: rank %+v", ranks, o.Rank)
		}
		o.verify(t, a, 4)
	}
}
