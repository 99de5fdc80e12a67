package dist

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/kernels"
	"jmpi/node"
)

// hostLimits are those of devices whose memory is that of the host.
var hostLimits = kernels.Limits{PointwiseOrder: 128, Width: 32, Align: 8, Tile: 64, FullBlock: true,
	HostMemory: true}

// TestFootprint counts by hand, in copies of a matrix of 8·m·n bytes.
func TestFootprint(t *testing.T) {
	const n = 1024
	const square, tall = int64(8 * n * n), int64(8 * 10 * n * n)
	// Reflectors of a square matrix: half of it, a triangle of each panel, and a sixth for what is taken ahead.
	// In panels of 32 columns, many of which end early, or of 64.
	const narrow, wide = 8 * n * (n/2 + 32 + n/6), 8 * n * (n/2 + 64 + n/6)
	const narrowTall = 8 * n * (10*n - n/2 + 32 + n/6)
	for _, c := range []struct {
		name            string
		m               int
		w               ways
		matrix          int64
		during, outside int64 // besides the matrix, while block-columns are there, and while not
		carried         bool  // V lies on the devices
	}{
		{"values alone", n, ways{precondition: NoPreconditioner, v: noRight}, square, 0, 0, false},
		{"read again", n, ways{precondition: NoPreconditioner, v: noRight, reread: true}, square, 0, 0, false},
		{"solve", n, ways{precondition: NoPreconditioner, v: FromLeft, vectors: true}, square, square,
			3 * square, false},
		{"accumulate", n, ways{precondition: NoPreconditioner, v: Accumulate, vectors: true}, square, 0, 0, true},
		{"preconditioned", n, ways{precondition: QRCPLQ, v: noRight}, square, 0, square + narrow*2 + wide, false},
		{"hyperbolic", n, ways{precondition: NoPreconditioner, v: Accumulate, hyperbolic: true}, square, 2 * square,
			0, true},
		{"of lower rank", n, ways{precondition: QRCPLQ, v: Accumulate, hyperbolic: true, deflated: true}, square,
			7 * square, 0, true},
		{"tall, values alone", 10 * n, ways{slabs: true, precondition: QR, v: noRight}, tall,
			5*square + square, 5*square + 2*square + narrow, false},
		{"tall and graded", 10 * n, ways{vectors: true, precondition: QRCPLQ, v: FromLeft}, tall,
			2*square + narrowTall*2 - tall, tall + square, false},
	} {
		for _, devices := range []int{1, 4} {
			task := Task{M: c.m, N: n, Settings: jacobi.Settings{Strategy: "rev-rowcyc", Variant: jacobi.Block}}
			f := c.w.footprint(task, devices, hostLimits)
			config := jacobi.Config{Problem: jacobi.Problem{M: c.m, N: n, Vectors: c.carried}, Settings: task.Settings}
			if c.w.slabs {
				config.M = n
			}
			device := node.Demand(config.Node(devices, hostLimits), hostLimits)
			extra := max(0, c.during, c.outside-device*int64(devices))
			if want := (Footprint{device, c.matrix, extra}); f.Device != want.Device || f.Matrix != want.Matrix ||
				f.Extra < want.Extra-8 || f.Extra > want.Extra+8 { // parts of numbers
				t.Errorf("%s on %d devices: %+v, want %+v", c.name, devices, f, want)
			}
		}
	}
	if f := (ways{}).footprint(Task{M: 5}, 2, hostLimits); f != (Footprint{}) {
		t.Errorf("no columns: %+v", f)
	}
	// On GPUs the matrices are on the devices, and what the primitives take.
	task := Task{M: n, N: n, Settings: jacobi.Settings{Strategy: "rev-rowcyc", Variant: jacobi.Block}}
	gpu := kernels.Limits{PointwiseOrder: 128, Width: 64, Align: 16, Tile: 256, Workspace: 1000,
		Scratch: 1 << 40}
	w := ways{precondition: QRCPLQ, v: Accumulate, vectors: true}
	demand := func(devices int) int64 { c := w.config(task); return c.Demand(devices, gpu) }
	const panel, block = int64(8 * (n + 64) * 64), int64(8 * n * 256)
	matrices := int64(2*square + narrow*2 + wide + 8*n*(256-64)) // T of 256 columns
	for _, c := range []struct {
		devices int
		want    int64
	}{
		{1, demand(1) + matrices + panel + block + n*denseScratch + n*n*3/2 + 1000},
		{4, demand(4) + matrices/4 + panel + 4*block + n*denseScratch + n*n*3/8 + 1000},
	} {
		if f := w.footprint(task, c.devices, gpu); f.Matrix != 0 || f.Extra != 0 || f.Device < c.want-8 ||
			f.Device > c.want+8 {
			t.Errorf("%d GPUs: %+v, want %d", c.devices, f, c.want)
		}
	}
	// Slabs of 4n rows are 4 squares each. By reflectors there are 2 more for the tree, and T of 64 columns.
	w = ways{slabs: true, precondition: QR, v: noRight, vectors: true}
	task.M = n
	of := func() int64 { return w.footprint(task, 2, gpu).Device }
	w.slabs = false
	triangle := of()
	w.slabs, task.M = true, 8*n
	if got := of(); got != triangle+8*square+slabScratch {
		t.Errorf("slabs on two GPUs: %d besides the triangle, want %d", got-triangle, 8*square+slabScratch)
	}
	w.reflectors = true
	if got := of(); got != triangle+slabScratch+8*square+9*square+2*8*64*n {
		t.Errorf("slabs by reflectors on two GPUs: %d besides the triangle", got-triangle)
	}
	task.M = n
	w = ways{precondition: NoPreconditioner, v: Accumulate, vectors: true, reread: true}
	if f := w.footprint(task, 1, gpu); f != (Footprint{Device: demand(1) + n*jacobiScratch + 1000}) {
		t.Errorf("read again: %+v", f)
	}
	f := Footprint{Device: 1000, Matrix: 600, Extra: 1400}
	if got := f.Host(1, 2, 3, 4, true); got != 1000+3*rankBytes+4000 {
		t.Errorf("half of it on CPUs: %d", got)
	}
	if got := f.Host(2, 2, 1, 4, false); got != 2000+rankBytes {
		t.Errorf("all of it on GPUs: %d", got)
	}
}

// TestEstimateOfOneSign: where all columns have the same sign the hyperbolic SVD is the SVD, and takes its
// memory.
func TestEstimateOfOneSign(t *testing.T) {
	for _, n := range []int{1, 215, 2000} {
		for _, ratio := range []int{1, 3, 4, 9} {
			for _, sign := range []float64{1, -1} {
				for devices := 1; devices <= 8; devices++ {
					task := both(ratio*n, n)
					task.Precision = Float64
					usual, most := task.Estimate(devices, hostLimits)
					task.Signs = slices.Repeat([]float64{sign}, n)
					if u, m := task.Estimate(devices, hostLimits); u != usual || m != most {
						t.Errorf("%d×%d, sign %g, %d devices: %+v, %+v, the SVD takes %+v, %+v", task.M, n, sign, devices, u, m,
							usual, most)
					}
				}
			}
		}
	}
}

// TestEstimateCovers: whatever a task turns out to do takes no more than Estimate has said.
func TestEstimateCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		task := Task{M: n * rapid.IntRange(1, 9).Draw(t, "m/n"), N: n,
			Precondition: rapid.SampledFrom([]Preconditioner{AutoPreconditioner, NoPreconditioner, QR, QRCP,
				QRCPLQ}).Draw(t, "precondition"), V: rapid.SampledFrom([]RightVectors{AutoRight, Accumulate,
				FromLeft}).Draw(t, "V"), Wanted: Wanted{Left: rapid.Bool().Draw(t, "left"),
				Right: rapid.Bool().Draw(t, "right"), RightLeads: rapid.Bool().Draw(t, "right leads")},
			Settings: jacobi.Settings{Strategy: "rev-rowcyc"}}
		if signs := rapid.SampledFrom([]float64{0, 1, -1}).Draw(t, "signs of the last column"); signs != 0 {
			task.Signs = append(slices.Repeat([]float64{1}, n-1), signs)
			task.Precondition = rapid.SampledFrom([]Preconditioner{AutoPreconditioner, NoPreconditioner, QR}).Draw(t,
				"preconditioner")
			task.V = AutoRight
		}
		limits := hostLimits
		limits.HostMemory = rapid.Bool().Draw(t, "host memory")
		devices := rapid.IntRange(1, 8).Draw(t, "devices")
		usual, most := task.Estimate(devices, limits)
		// What Decompose does with the matrix.
		graded := rapid.Bool().Draw(t, "graded")
		in := input{origin: origin{m: task.M, n: n, signature: partition(n, task.Signs)}}
		if in.x = (&matrix.Matrix{M: task.M, N: n}); task.reducible() && !graded {
			in.slabs, in.x.M = &matrix.Slabs{}, n
		}
		rows, side := []float64{1, 1}, notGraded
		if graded {
			rows[1] = 1e-3
			side = rapid.SampledFrom([]gradedSides{columnsGraded, rowsGraded, bothGraded}).Draw(t, "side")
		}
		method := choose(task, in, limits, matrix.Grading{Rows: rows, Columns: []float64{1, 1}}, 0, side)
		w := method.ways(task, in.origin)
		f := w.footprint(task, devices, limits)
		if g := f.most(most); g != most {
			t.Fatalf("%+v takes %+v, estimated at most %+v", w, f, most)
		}
		if g := f.most(usual); !graded && g != usual {
			t.Fatalf("%+v takes %+v, estimated %+v", w, f, usual)
		}
	})
}
