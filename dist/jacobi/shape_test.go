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
