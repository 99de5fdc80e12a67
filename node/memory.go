package node

import "jmpi/kernels"

// memoryAlign is the alignment of every panel's first element, in bytes.
const memoryAlign = 256

// arrangement says how the one block of a device's memory is cut: the addresses in it count from
// the block's start.
type arrangement struct {
	slots  [Slots]slot
	levels []level
	bytes  int64
}

// slot is the memory of one macro block-column.
type slot struct {
	column int // macro block-column that lies here, -1 for none
	Block
}

// Block is the memory of some block-columns that are neighbours. Each of its panels is one piece of memory.
type Block struct {
	G, V kernels.Panel // V is the zero panel if V is not carried
	// of the columns of G if these are float32 (kernels.Single): n×1, float64; otherwise the zero panel
	Norms kernels.Panel
	// of the narrow block-columns of G, where they are kept (kernels.Single): one beside the other
	Grams kernels.Panel
}

// Panels returns all panels of the block, in an order that is always the same. Some may have no memory.
func (b Block) Panels() []kernels.Panel { return []kernels.Panel{b.G, b.V, b.Norms, b.Grams} }

// columns returns the block of columns j0 ≤ j < j1.
func (b Block) columns(j0, j1 int) Block {
	c := Block{G: b.G.Columns(j0, j1)}
	if b.V.Ld > 0 {
		c.V = b.V.Columns(j0, j1)
	}
	if b.Norms.Ld > 0 {
		c.Norms = b.Norms.Rows(j0, j1)
		c.Norms.Ld = c.Norms.M
	}
	if b.Grams.Ld > 0 {
		c.Grams = b.Grams.Columns(j0, j1)
	}
	return c
}

// level is one level of the recursion: pivot problems on block-columns of one width.
type level struct {
	columns  int // block-columns that a sweep makes orthogonal
	order    int // largest order of a factor
	problems int // largest batch
	r, t     kernels.Panel
	factors  kernels.Panel // with float32: kernels.Single, Factors
}

// factor returns the workspace of problem i, whose factor has the order k: R, T, and, with float32, Factors.
func (l *level) factor(i, k int) (r, t, factors kernels.Panel) {
	j := i * l.order
	r, t = l.r.Columns(j, j+k), l.t.Columns(j, j+k)
	r.M, t.M = k, k
	if l.factors.Ld > 0 {
		factors = l.factors.Rows(j, j+k)
		factors.Ld = k
	}
	return r, t, factors
}

// Demand returns the bytes that NewDevice allocates: block-columns, and the factors of all levels.
func Demand(c Config, limits kernels.Limits) int64 { return arrange(c, limits).bytes }

// arrange lays out the block-columns of G, and of V, and the factors of all levels.
func arrange(c Config, limits kernels.Limits) *arrangement {
	a := &arrangement{}
	e, n := c.Precision.Type, c.Layout.N
	single := e == kernels.Float32
	keeps := limits.Grams.Of(e) != kernels.KeepNever && len(c.Widths) == 0 && c.Positive == n
	width, to := c.Layout.MacroWidth(), limits.Align*kernels.WordBytes/e.Bytes()
	for i := range a.slots {
		s := &a.slots[i]
		s.column = -1
		if i == Slots-1 && !c.Exchanges {
			break
		}
		s.G = a.panel(c.M, width, leading(c.M, to, e), e)
		if c.Vectors {
			s.V = a.panel(n, width, leading(n, to, e), e)
		}
		if single {
			s.Norms = a.panel(width, 1, width, kernels.Float64)
		}
		if keeps {
			order := c.Layout.Width()
			s.Grams = a.panel(order, width, align(order, to), e)
		}
	}
	// The levels below a batch of problems of order k ≤ order.
	columns, order, problems := c.Layout.Columns, 2*c.Layout.Width(), max(1, c.Layout.PerMacro)
	for l := 0; ; l++ {
		ld := align(order, to)
		v := level{columns: columns, order: order, problems: problems}
		v.r = a.panel(ld, order*problems, ld, e)
		v.t = a.panel(ld, order*problems, ld, e)
		if single {
			v.factors = a.panel(order*problems, 1, order*problems, kernels.Float64)
		}
		a.levels = append(a.levels, v)
		if l == len(c.Widths) {
			return a
		}
		most := 0
		if l == len(c.Widths)-1 {
			most = limits.PointwiseOrder / 2
		}
		inner := NewLayout(order, 1, c.Widths[l], most)
		problems *= inner.Columns / 2
		columns, order = inner.Columns, 2*inner.Width()
	}
}

// panel appends an m×n panel.
func (a *arrangement) panel(m, n, ld int, e kernels.Element) kernels.Panel {
	p := kernels.Panel{M: m, N: n, Ld: ld, Data: kernels.Address(a.bytes), Type: e}
	a.bytes += (p.Bytes() + memoryAlign - 1) / memoryAlign * memoryAlign
	return p
}

// move adds base to all addresses.
func (a *arrangement) move(base kernels.Address) {
	for i := range a.slots {
		s := &a.slots[i]
		for _, p := range []*kernels.Panel{&s.G, &s.V, &s.Norms, &s.Grams} {
			p.Data += base
		}
	}
	for i := range a.levels {
		l := &a.levels[i]
		for _, p := range []*kernels.Panel{&l.r, &l.t, &l.factors} {
			p.Data += base
		}
	}
}

// leading returns the leading dimension of block-columns of m rows: aligned, and not a multiple of 2 KiB, for
// then the same row of all columns would fall into the same few sets of every cache.
func leading(m, to int, e kernels.Element) int {
	conflict := 2048 / e.Bytes()
	ld := align(m, to)
	if ld%conflict == 0 {
		ld += to
	}
	return ld
}

func align(n, to int) int { return max(1, (n+to-1)/to) * to }
