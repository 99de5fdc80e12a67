package dist

import (
	"testing"

	"pgregory.net/rapid"

	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/kernels"
	"jmpi/node"
)

// hostLimits are those of devices whose memory is that of the host.
var hostLimits = kernels.Limits{PointwiseOrder: 128, Width: 32, Align: 8, FullBlock: true, HostMemory: true}

// TestFootprint counts by hand, in copies of a matrix of 8·m·n bytes.
func TestFootprint(t *testing.T) {
	const n = 1024
	const square, tall = int64(8 * n * n), int64(8 * 10 * n * n)
	for _, c := range []struct {
		name             string
		m                int
		w                ways
		matrix, beside int64
		carried          bool // V lies on the devices
	}{
		{"values alone", n, ways{precondition: "none", v: "none"}, square, 0, false},
		{"solve", n, ways{precondition: "none", v: "solve", vectors: true}, square, 3 * square, false},
		{"accumulate", n, ways{precondition: "none", v: "accumulate", vectors: true}, square, 0, true},
		{"preconditioned", n, ways{precondition: "qrcp-lq", v: "none"}, square, 5 * square, false},
		{"hyperbolic", n, ways{precondition: "none", v: "accumulate", hyperbolic: true}, square, 2 * square, true},
		{"of lower rank", n, ways{precondition: "qrcp-lq", v: "accumulate", hyperbolic: true, deflated: true}, square, 7 * square, true},
		{"tall, values alone", 10 * n, ways{slabs: true, precondition: "qr", v: "none"}, 3 * tall / 2, 6 * square, false},
		{"tall", 10 * n, ways{slabs: true, vectors: true, precondition: "qr", v: "accumulate"}, 3 * tall / 2, tall/2 + 6*square, true},
		{"tall and graded", 10 * n, ways{vectors: true, precondition: "qrcp-lq", v: "solve"}, tall, 5 * tall, false},
	} {
		for _, devices := range []int{1, 4} {
			config := jacobi.Config{M: c.m, N: n, Strategy: "rev-rowcyc", Vectors: !c.carried}
			f := c.w.footprint(config, devices, hostLimits)
			config.Vectors = c.carried
			if c.w.slabs {
				config.M = n
			}
			if want := (Footprint{node.Demand(config.Node(devices, hostLimits), hostLimits), c.matrix, c.beside}); f != want {
				t.Errorf("%s on %d devices: %+v, want %+v", c.name, devices, f, want)
			}
		}
	}
	if f := (ways{}).footprint(jacobi.Config{M: 5}, 2, hostLimits); f != (Footprint{}) {
		t.Errorf("no columns: %+v", f)
	}
	f := Footprint{Device: 1000, Matrix: 600, Beside: 1400}
	if got := f.Host(1, 2, 3, 4, true); got != 1150+3*rankBytes+4000 {
		t.Errorf("half of it on CPUs: %d", got)
	}
	if got := f.Host(2, 2, 1, 4, false); got != 2300+rankBytes {
		t.Errorf("all of it on GPUs: %d", got)
	}
}

// TestEstimateCovers: whatever a task turns out to do takes no more than Estimate has said.
func TestEstimateCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		task := Task{
			Config: jacobi.Config{M: n * rapid.IntRange(1, 9).Draw(t, "m/n"), N: n, Strategy: "rev-rowcyc"},
			Left:   rapid.Bool().Draw(t, "left"), Right: rapid.Bool().Draw(t, "right"), RightLeads: rapid.Bool().Draw(t, "right leads"),
			Precondition: rapid.SampledFrom([]string{"auto", "none", "qr", "qrcp", "qrcp-lq"}).Draw(t, "precondition"),
			V:            rapid.SampledFrom([]string{"auto", "accumulate", "solve"}).Draw(t, "V"),
		}
		limits := hostLimits
		limits.HostMemory = rapid.Bool().Draw(t, "host memory")
		devices := rapid.IntRange(1, 8).Draw(t, "devices")
		usual, most := task.Estimate(devices, limits)
		// What Decompose does with the matrix.
		task.Positive = n
		d := &Decomposition{task: task, wants: task.needs(), devices: []kernels.Backend{limited{limits: limits}}}
		graded := rapid.Bool().Draw(t, "graded")
		if task.reducible() && !graded {
			d.slabs = &matrix.Slabs{}
		}
		d.a = &matrix.Matrix{M: task.M, N: n}
		rows := []float64{1, 1}
		if graded {
			rows[1] = 1e-9
		}
		d.choosePreconditioner(matrix.Grading{Rows: rows, Columns: []float64{1, 1}}, 0)
		d.chooseV()
		f := d.ways().footprint(task.Config, devices, limits)
		if g := f.most(most); g != most {
			t.Fatalf("%+v takes %+v, estimated at most %+v", d.ways(), f, most)
		}
		if g := f.most(usual); !graded && g != usual {
			t.Fatalf("%+v takes %+v, estimated %+v", d.ways(), f, usual)
		}
	})
}

// limited is a back end of which nothing but its limits is asked.
type limited struct {
	kernels.Backend
	limits kernels.Limits
}

func (l limited) Limits() kernels.Limits { return l.limits }
