package jacobi

import (
	"jmpi/kernels"
	"jmpi/node"
	"jmpi/strategy"
)

// positive returns how many leading columns have sign +1.
func (p Problem) positive() int {
	if p.Positive == 0 {
		return p.N
	}
	return p.Positive
}

// AutoStrategy stands for the pivot strategy that takes the least work.
const AutoStrategy = "auto"

// PivotStrategy returns the pivot strategy of all levels for so many devices: the preferred one, or where the
// search for that is long the one that takes its place.
func (c Config) PivotStrategy(devices int) string {
	if c.Strategy != AutoStrategy {
		return c.Strategy
	}
	return strategy.Quick(c.preferred(), 2*devices)
}

// preferred returns the pivot strategy that is taken for most numbers of devices. Where the norms fall,
// columns of about the same norm are neighbours and need the largest rotations: rowcyc meets them first.
// Elsewhere far pairs come first.
func (c Config) preferred() string {
	switch {
	case c.Strategy != AutoStrategy:
		return c.Strategy
	case c.Norms != AnyNorms:
		return "rowcyc"
	}
	return "rev-rowcyc"
}

// Node returns the configuration of each of so many devices: the partition into block-columns, and
// the inner levels.
func (c Config) Node(devices int, limits kernels.Limits) node.Config {
	width, inner := limits.Widths(c.N, c.Precision)
	if c.Block != 0 {
		width, inner = c.Block, 0
	}
	if c.InnerBlock != 0 {
		inner = c.InnerBlock
	}
	layout := node.NewLayout(c.N, devices, width, widest(width, inner, limits))
	nc := node.Config{
		M: c.M, Layout: layout, Positive: c.positive(), Independent: c.Independent,
		Vectors: c.Vectors, Strategy: c.PivotStrategy(devices), Sweeps: 1,
		Precision: node.Precision{Type: c.Precision, Cosine: c.Cosine}, Exchanges: devices > 1,
	}
	if past, ok := layout.With(c.past); ok {
		nc.Layout = past
	}
	variant := c.variant(limits)
	if variant != Block {
		nc.Sweeps = node.FullSweeps
	}
	if c.Scheme == Nested {
		nc.Layout, _ = layout.With(node.Ordering{Columns: layout.Macros, Parts: 1})
		nc.Widths = append(nc.Widths, width)
	} else {
		width = nc.Layout.Width()
	}
	if 2*width > limits.PointwiseOrder && (inner == 0 || inner >= width) {
		inner = limits.PointwiseOrder / 4
	}
	if inner > 0 && inner < width {
		nc.Widths = append(nc.Widths, inner)
	}
	few := variant == Twice || variant == Full && nc.Positive < c.N
	if few && (nc.Layout.Columns > 2 || len(nc.Widths) > 0) {
		nc.Sweeps = node.FewSweeps
	}
	return nc
}

// widest returns how wide block-columns may be that should have this width; 0: as wide as they come, with
// an inner level. Factors should not need one for a little more, nor, where Jacobi rounds them up, the
// next power of two.
func widest(width, inner int, limits kernels.Limits) int {
	most := limits.PointwiseOrder / 2
	if inner > 0 && inner < width || width > most {
		return 0
	}
	for limits.RoundsUp && most/2 >= width {
		most /= 2
	}
	return most
}

// Demand returns the bytes that each of so many devices allocates.
func (c Config) Demand(devices int, limits kernels.Limits) int64 {
	return node.Demand(c.Node(devices, limits), limits)
}
