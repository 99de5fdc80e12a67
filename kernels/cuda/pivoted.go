package cuda

import (
	"fmt"
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
	a, y, t               kernels.Address
	m, n, lda, ldy, ldt   int64
	rows, nearby          int64
	box                   kernels.Address
	meeting               int64
	found                 kernels.Address
	bounds                int64
	bound, longest, reach float64
	retain                int64
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
	if f.box, f.meeting, err = d.meeting(panelColumns+panelBounds*panelParts, panelColumns, blocks); err != nil {
		return err
	}
	return d.launchTogether("factor_pivoted", blocks, panelColumns/2*32+int(f.bounds)*panelParts*32, shared,
		words([]factoring{f}))
}

func (d *device) FactorPivoted(a kernels.Panel, q kernels.Reflectors,
	o kernels.PanelOptions) (kernels.PanelResult, error) {
	wrong, bounds := kernels.CheckFactorPivoted(a, q, o), 0
	if o.Noise != nil {
		bounds = len(o.Noise.Rows)
	}
	if wrong == nil && bounds > panelBounds {
		wrong = fmt.Errorf("%w: noise has %d bounds, %d are the limit", kernels.ErrShape, bounds, panelBounds)
	}
	out := kernels.Panel{M: foundWords + bounds*a.M, N: 1, Ld: foundWords + bounds*a.M}
	err := d.checked("FactorPivoted", wrong, func() (err error) {
		if out.Data, err = d.need("what a panel gives", out.Bytes()); err != nil {
			return err
		}
		f := factoring{found: out.Data, bounds: int64(bounds), bound: o.Bound, longest: o.Drop.Longest,
			reach: o.Drop.Reach}
		if o.Drop.Retain {
			f.retain = 1
		}
		if bounds > 0 {
			if err := d.postNoise(out.Data, a.N, o.Noise); err != nil {
				return err
			}
		}
		return d.factor(a, q, f)
	})
	if err != nil {
		return kernels.PanelResult{}, err
	}
	all := make([]float64, out.M)
	if err := d.Read(all, out.M, out); err != nil {
		return kernels.PanelResult{}, err
	}
	return result(all, a.M, bounds), nil
}

// postNoise queues the copy of the errors of n columns, and of the rows, to where the kernel expects them.
func (d *device) postNoise(to kernels.Address, n int, noise *kernels.PanelNoise) error {
	width := (len(noise.Rows) + 1) * kernels.Samples
	samples := make([]float64, n*panelWidth)
	for c := range n {
		copy(samples[c*panelWidth:], noise.Columns[c*width:(c+1)*width])
	}
	if err := d.post(to+kernels.Address(unsafe.Offsetof(found{}.samples)), words(samples)); err != nil {
		return err
	}
	to += kernels.Address(foundWords * kernels.WordBytes)
	for _, rows := range noise.Rows {
		if err := d.post(to, words(rows)); err != nil {
			return err
		}
		to += kernels.Address(len(rows) * kernels.WordBytes)
	}
	return nil
}

// result puts what the kernel has found into the form of the interface.
func result(all []float64, m, bounds int) kernels.PanelResult {
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
	for _, c := range p.Pivots {
		p.Columns = append(p.Columns, f.samples[c][:(bounds+1)*kernels.Samples]...)
	}
	for b := range bounds {
		p.From = append(p.From, f.from[b][:count+1])
		p.Rows = append(p.Rows, all[foundWords+b*m:foundWords+(b+1)*m])
	}
	return p
}
