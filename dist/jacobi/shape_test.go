package jacobi

import (
	"testing"

	"jmpi/kernels"
	"jmpi/node"
)

// The inner orderings have the strategy of the outer one, and a name that was given is taken as it is.
func TestPivotStrategy(t *testing.T) {
	for _, c := range []struct {
		name  string
		norms Norms
		want  string
	}{
		{AutoStrategy, AnyNorms, "rev-rowcyc"}, {AutoStrategy, Falling, "rowcyc"}, {AutoStrategy, Graded, "rowcyc"},
		{"br", AnyNorms, "br"}, {"br", Falling, "br"},
	} {
		config := Config{Problem: Problem{M: 64, N: 64, Norms: c.norms}, Settings: Settings{Strategy: c.name}}
		if got := config.PivotStrategy(2); got != c.want {
			t.Errorf("%s, norms %d: %s, want %s", c.name, c.norms, got, c.want)
		}
		if got := config.Node(2, kernels.Limits{PointwiseOrder: 64, Width: 8}).Strategy; got != c.want {
			t.Errorf("%s, norms %d: the inner orderings are %s, want %s", c.name, c.norms, got, c.want)
		}
	}
}

// Where the preferred strategy must be searched for long, another one takes its place on the devices, and in
// their configuration; one that was given stays.
func TestPivotStrategyOfManyDevices(t *testing.T) {
	for _, c := range []struct {
		name    string
		norms   Norms
		devices int
		want    string
	}{
		{AutoStrategy, AnyNorms, 68, "rev-rowcyc"}, {AutoStrategy, AnyNorms, 69, "rev-colcyc"},
		{AutoStrategy, Falling, 69, "colcyc"}, {AutoStrategy, AnyNorms, 160, "rev-rowcyc"},
		{AutoStrategy, AnyNorms, 200, "rev-rowcyc-expanded"}, {AutoStrategy, Falling, 200, "rowcyc-expanded"},
		{AutoStrategy, AnyNorms, 256, "rev-rowcyc"}, {AutoStrategy, AnyNorms, 161, "mmstep"},
		{"rev-rowcyc", AnyNorms, 69, "rev-rowcyc"},
	} {
		config := Config{Problem: Problem{M: 900, N: 900, Norms: c.norms}, Settings: Settings{Strategy: c.name}}
		if got := config.PivotStrategy(c.devices); got != c.want {
			t.Errorf("%s, norms %d, %d devices: %s, want %s", c.name, c.norms, c.devices, got, c.want)
		}
		if got := config.Node(c.devices, kernels.Limits{PointwiseOrder: 64, Width: 8}).Strategy; got != c.want {
			t.Errorf("%s, norms %d, %d devices have %s, want %s", c.name, c.norms, c.devices, got, c.want)
		}
	}
}

// What auto chooses, that what was asked for stays, and how many inner sweeps there are: others in the first
// two sweeps where singular values decay.
func TestVariant(t *testing.T) {
	gpu := kernels.Limits{PointwiseOrder: 64, Width: 8}
	cpu := gpu
	cpu.FullBlock = true
	for _, c := range []struct {
		limits        kernels.Limits
		positive      int
		precision     kernels.Element
		norms         Norms
		want          Variant
		sweeps, first int // inner ones; those of the first two sweeps, 0: as many
	}{
		{cpu, 64, kernels.Float64, AnyNorms, Twice, node.FewSweeps, 0},
		{gpu, 64, kernels.Float64, AnyNorms, Block, 1, 0}, {gpu, 64, kernels.Float64, Falling, Block, 1, 0},
		{gpu, 64, kernels.Float64, Decaying, Block, 1, node.FewSweeps},
		{gpu, 64, kernels.Float64, Graded, Block, 1, node.FewSweeps},
		{cpu, 64, kernels.Float64, Graded, Twice, node.FewSweeps, 0},
		{cpu, 64, kernels.Float32, AnyNorms, Block, 1, 0}, {cpu, 64, kernels.Float32, Falling, Block, 1, 0},
		{cpu, 64, kernels.Float32, Graded, Twice, node.FewSweeps, 0},
		{gpu, 64, kernels.Float32, Decaying, Block, 1, 0}, {gpu, 64, kernels.Float32, Graded, Block, 1, 0},
		{cpu, 30, kernels.Float64, AnyNorms, Full, node.FewSweeps, 0},
		{gpu, 30, kernels.Float64, AnyNorms, Full, node.FewSweeps, 0},
		{gpu, 30, kernels.Float64, Graded, Full, node.FewSweeps, 0},
	} {
		config := Config{Problem: Problem{M: 64, N: 64, Positive: c.positive, Precision: c.precision,
			Norms: c.norms}}
		if got := config.variant(c.limits); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		if got := config.Node(2, c.limits).Sweeps; got != c.sweeps {
			t.Errorf("%+v: %d inner sweeps", c, got)
		}
		for i, want := range []int{c.first, c.first, 0, 0} {
			if got := config.inner(i+1, c.limits); got != want {
				t.Errorf("%+v: %d inner sweeps in sweep %d, want %d", c, got, i+1, want)
			}
		}
		for _, asked := range []Variant{Block, Twice, Full} {
			if config.Variant = asked; config.variant(c.limits) != asked {
				t.Errorf("%+v: %s does not stay", c, asked)
			}
		}
	}
}

// Whatever the order of the matrix, no inner level is needed, and the block-columns are about as wide as the
// device likes them. Where Jacobi rounds factors up they are no wider.
func TestWidths(t *testing.T) {
	cpu := kernels.Limits{PointwiseOrder: 128, Width: 32}
	gpu := kernels.Limits{PointwiseOrder: 128, RoundsUp: true, Width: 64,
		Table: []kernels.Preference{{Type: kernels.Float64, Order: 512, Width: 32},
			{Type: kernels.Float64, Order: 1536, Width: 64}}}
	for name, limits := range map[string]kernels.Limits{"CPU": cpu, "GPU": gpu} {
		for n := 2; n < 20000; n += 1 + n/50 {
			for _, devices := range []int{1, 2, 3, 4} {
				for _, precision := range []kernels.Element{kernels.Float64, kernels.Float32} {
					c := Config{Problem: Problem{M: n, N: n, Precision: precision}}
					nc := c.Node(devices, limits)
					width, likes := nc.Layout.Width(), limits.Width
					if w, _ := limits.Widths(n, precision); w != 0 {
						likes = w
					}
					least, most := 3*likes/5, limits.PointwiseOrder/2
					if limits.RoundsUp {
						most = likes
					}
					if n < 24*likes*devices { // few block-columns: at most twice as many as are asked for
						least = min(likes, n/(2*devices)) / 2
					}
					if len(nc.Widths) > 0 || width > most || width < least {
						t.Fatalf("%s, n = %d, %s, %d devices: width %d, levels %v below; want %d to %d", name, n, precision,
							devices, width, nc.Widths, least, most)
					}
				}
			}
		}
	}
}

// What the user asks for is met as far as Jacobi takes it, and beyond with an inner level.
func TestWidthsAsked(t *testing.T) {
	gpu := kernels.Limits{PointwiseOrder: 128, RoundsUp: true, Width: 64}
	for _, c := range []struct{ n, block, inner, least, most, levels int }{
		{1300, 64, 0, 48, 64, 0}, {1300, 32, 0, 24, 32, 0}, {1300, 40, 0, 30, 64, 0}, {1300, 100, 0, 70, 140, 1},
		{5000, 0, 16, 50, 80, 1}, {5000, 64, 16, 50, 80, 1}, {131, 0, 70, 32, 64, 0}, {1100, 0, 70, 40, 64, 0},
		{1100, 100, 120, 60, 140, 1}, {150, 100, 80, 75, 75, 1}, {1100000, 0, 0, 64, 80, 1},
	} {
		config := Config{Problem: Problem{M: c.n, N: c.n}, Settings: Settings{Block: c.block, InnerBlock: c.inner}}
		nc := config.Node(1, gpu)
		if w := nc.Layout.Width(); w < c.least || w > c.most || len(nc.Widths) != c.levels {
			t.Errorf("%+v: width %d, levels %v below", c, w, nc.Widths)
		}
	}
}
