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
	g, v   kernels.Panel
}

// level is one level of the recursion: pivot problems on block-columns of one width.
type level struct {
	order    int // largest order of a factor
	problems int // largest batch
	r, t     kernels.Address
	ld       int
}

// factor returns the k×k workspace of problem i for R and T.
func (l *level) factor(i, k int) (r, t kernels.Panel) {
	offset := kernels.Address(int64(i) * int64(l.ld) * int64(l.order) * kernels.WordBytes)
	return kernels.Panel{M: k, N: k, Ld: l.ld, Data: l.r + offset},
		kernels.Panel{M: k, N: k, Ld: l.ld, Data: l.t + offset}
}

// Demand returns the bytes that NewDevice allocates: block-columns, and the factors of all levels.
func Demand(c Config, limits kernels.Limits) int64 { return arrange(c, limits).bytes }

// arrange lays out the block-columns of G, and of V, and the factors of all levels.
func arrange(c Config, limits kernels.Limits) *arrangement {
	a := &arrangement{}
	width := c.Layout.MacroWidth()
	for i := range a.slots {
		s := &a.slots[i]
		s.column = -1
		if i == Slots-1 && !c.Exchanges {
			break
		}
		s.g = a.panel(c.M, width, leading(c.M, limits.Align))
		if c.Vectors {
			s.v = a.panel(c.Layout.N, width, leading(c.Layout.N, limits.Align))
		}
	}
	// The levels below a batch of problems of order k ≤ order.
	order, problems := 2*c.Layout.Width(), max(1, c.Layout.PerMacro)
	for l := 0; ; l++ {
		ld := align(order, limits.Align)
		v := level{order: order, problems: problems, ld: ld}
		v.r = a.panel(ld, order*problems, ld).Data
		v.t = a.panel(ld, order*problems, ld).Data
		a.levels = append(a.levels, v)
		if l == len(c.Widths) {
			return a
		}
		inner := NewLayout(order, 1, c.Widths[l])
		problems *= inner.Columns / 2
		order = 2 * inner.Width()
	}
}

// panel appends an m×n panel.
func (a *arrangement) panel(m, n, ld int) kernels.Panel {
	p := kernels.Panel{M: m, N: n, Ld: ld, Data: kernels.Address(a.bytes)}
	a.bytes += (p.Bytes() + memoryAlign - 1) / memoryAlign * memoryAlign
	return p
}

// move adds base to all addresses.
func (a *arrangement) move(base kernels.Address) {
	for i := range a.slots {
		a.slots[i].g.Data += base
		a.slots[i].v.Data += base
	}
	for i := range a.levels {
		a.levels[i].r += base
		a.levels[i].t += base
	}
}

// leading returns the leading dimension of block-columns of m rows: aligned, and not a multiple of 2 KiB, for
// then the same row of all columns would fall into the same few sets of every cache.
func leading(m, to int) int {
	const conflict = 2048 / kernels.WordBytes
	ld := align(m, to)
	if ld%conflict == 0 {
		ld += to
	}
	return ld
}

func align(n, to int) int { return max(1, (n+to-1)/to) * to }
