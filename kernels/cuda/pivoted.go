package cuda

import (
	"fmt"
	"slices"
	"unsafe"

	"jmpi/kernels"
)

const (
	panelState   = 20480                               // STATE of pivoted.cuh, bytes
	panelColumns = kernels.PivotedWidth                // COLUMNS
	panelBounds  = 2                                   // BOUNDS
	panelParts   = 2                                   // PARTS
	panelWidth   = (panelBounds + 1) * kernels.Samples // WIDTH

	sliceRows  = 128 // of a slice, at least
	fewSlices  = 64  // enough up to many rows: the more slices, the longer the blocks take to meet
	manyRows   = 512 // of a slice, where more slices are better
	mostSlices = 128
)

// found is Found of pivoted.cuh.
type found struct {
	count, rank, dropped float64
	pivots, tau          [panelColumns]float64
	noisy                [panelColumns][2]float64
	from                 [panelBounds][panelColumns + 1]float64
	r                    [panelColumns * panelColumns]float64
	samples              [panelColumns][panelWidth]float64
}

const foundWords = int(unsafe.Sizeof(found{}) / kernels.WordBytes)

// factoring is Factoring of pivoted.cuh.
type factoring struct {
	a, y, t, r               kernels.Address
	m, n, lda, ldy, ldt, ldr int64
	rows, nearby             int64
	box                      kernels.Address
	meeting                  int64
	found                    kernels.Address
	bounds                   int64
	errors, samples, ratios  kernels.Address
	lde, lds, ldq            int64
	bound, longest, reach    float64
	retain                   int64
}

// slices cuts m rows into slices, one for each block. All blocks must run at the same time.
func (d *device) slices(m int) (rows, blocks int) {
	blocks = max(1, min(ceil(m, sliceRows), max(fewSlices, m/manyRows), mostSlices, d.processors))
	rows = max(sliceRows, ceil(ceil(m, blocks), 32)*32)
	return rows, max(1, ceil(m, rows))
}

// factor queues the factorization of a; f has what the panels do not tell.
func (d *device) factor(a kernels.Panel, q kernels.Reflectors, f factoring) error {
	f.a, f.m, f.n, f.lda = a.Data, int64(a.M), int64(a.N), int64(a.Ld)
	f.y, f.ldy, f.t, f.ldt = q.Y.Data, int64(q.Y.Ld), q.T.Data, int64(q.T.Ld)
	rows, blocks := d.slices(a.M)
	f.rows = int64(rows)
	shared := panelState
	if slice := rows * (a.N + int(f.bounds)) * kernels.WordBytes; shared+slice <= d.shared {
		shared += slice
		f.nearby = 1
	}
	var err error
	count := letters(panelColumns+panelBounds*panelParts, panelColumns, blocks)
	if f.box, f.meeting, err = d.meeting(count); err != nil {
		return err
	}
	return d.launchTogether("factor_pivoted", blocks, panelColumns/2*32+int(f.bounds)*panelParts*32, shared,
		words([]factoring{f}))
}

func (d *device) FactorPivoted(a kernels.Panel, q kernels.Reflectors, r kernels.Panel,
	o kernels.PanelOptions) (kernels.Found, error) {
	var m mover
	wrong, bounds := kernels.CheckFactorPivoted(a, q, r, o), o.Noise.Bounds()
	if wrong == nil && bounds > panelBounds {
		wrong = fmt.Errorf("%w: noise has %d bounds, %d are the limit", kernels.ErrShape, bounds, panelBounds)
	}
	out := kernels.Panel{M: foundWords, N: 1, Ld: foundWords}
	err := d.checked("FactorPivoted", wrong, func() (err error) {
		if out.Data, err = d.need("what a panel gives", out.Bytes()); err != nil {
			return err
		}
		f := factoring{r: r.Data, ldr: int64(r.Ld), found: out.Data, bounds: int64(bounds), bound: o.Bound,
			longest: o.Drop.Longest, reach: o.Drop.Reach}
		if o.Drop.Retain {
			f.retain = 1
		}
		if x := o.Noise; bounds > 0 {
			f.errors, f.samples, f.ratios = x.Rows.Data, x.Samples.Data, x.Ratios.Data
			f.lde, f.lds, f.ldq = int64(x.Rows.Ld), int64(x.Samples.Ld), int64(x.Ratios.Ld)
		}
		if err := d.factor(a, q, f); err != nil {
			return err
		}
		m, err = d.fetching(out)
		return err
	})
	if err != nil {
		return nil, err
	}
	return func() (kernels.PanelResult, error) {
		defer d.movers.give(m)
		if err := d.bound("FactorPivoted", func() error { return m.wait(d) }); err != nil {
			return kernels.PanelResult{}, err
		}
		return result(slices.Clone(m.small(out.M, 1)), bounds), nil
	}, nil
}

// fetching queues the copy of a column to a mover's memory, beside what comes next.
func (d *device) fetching(p kernels.Panel) (m mover, err error) {
	if m, err = d.movers.take(d); err != nil {
		return m, err
	}
	if err = m.behind(d, d.stream); err == nil {
		err = d.copyMatrix(m.stream, m.side(p.M), on(p), p.M, 1)
	}
	if err != nil {
		d.movers.give(m)
	}
	return m, err
}

// result puts what the kernel has found into the form of the interface.
func result(all []float64, bounds int) kernels.PanelResult {
	f := (*found)(unsafe.Pointer(unsafe.SliceData(all)))
	count := int(f.count)
	p := kernels.PanelResult{Count: count, Rank: int(f.rank), Tau: f.tau[:count]}
	p.R = make([]float64, count*count)
	for j := range count {
		p.Pivots = append(p.Pivots, int(f.pivots[j]))
		copy(p.R[j*count:(j+1)*count], f.r[j*panelColumns:])
	}
	for _, x := range f.noisy[:int(f.dropped)] {
		p.Noisy = append(p.Noisy, [2]int{int(x[0]), int(x[1])})
	}
	if bounds == 0 {
		return p
	}
	for j := range count {
		p.Columns = append(p.Columns, f.samples[j][:(bounds+1)*kernels.Samples]...)
	}
	for b := range bounds {
		p.From = append(p.From, f.from[b][:count+1])
	}
	return p
}
