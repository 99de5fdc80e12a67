package jacobi

import (
	"fmt"
	"math"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// chunkBytes bounds the host memory through which block-columns are read and written.
const chunkBytes = 32 << 20

// distributor brings a matrix to the devices.
type distributor struct {
	*spread
	Problem
}

// distribute brings the matrix to the devices, scaled by a power of two so that its largest entry lies in
// [2^(top−1), 2^top), and sets V to the identity; `at` has the two macro block-columns of each device. It
// returns the exponent e of the scaling, G = 2^-e·A, and the norm below which columns are rounding errors. It
// is collective.
func (l distributor) distribute(at map[int][2]int) (e int, floor float64, err error) {
	take := l.takeLoaded
	if l.Source != nil {
		take = l.takeSource
	}
	largest, err := take(at)
	if err := comm.Agree(l.comm, comm.BadInput, err); err != nil {
		return 0, 0, err
	}
	if e, err = matrix.CommonExponent(l.comm, largest); err != nil {
		return 0, 0, err
	}
	if err := comm.Agree(l.comm, comm.BadResource, l.scaleAll(-e)); err != nil {
		return 0, 0, err
	}
	norms, err := l.norms(false)
	if err := comm.Agree(l.comm, comm.BadResource, err); err != nil {
		return 0, 0, err
	}
	return e, floorOf(norms), nil
}

// takeLoaded reads the block-columns of this rank's devices, and returns the largest magnitude.
func (l distributor) takeLoaded(at map[int][2]int) (largest float64, err error) {
	for _, r := range l.runners {
		for slot, column := range at[r.id] {
			r.dev.SetColumn(slot, column)
			if largest, err = l.readMacro(r, slot, column, largest); err != nil {
				return 0, err
			}
		}
	}
	return largest, nil
}

// takeSource takes the block-columns of this rank's devices from the source, whose blocks pass by on every
// rank.
func (l distributor) takeSource(at map[int][2]int) (largest float64, err error) {
	from := l.Source
	for _, r := range l.runners {
		for slot, column := range at[r.id] {
			r.dev.SetColumn(slot, column)
			if _, v := l.panels(r, slot, column); v.N > 0 && err == nil {
				j0, _ := l.layout.Macro(column)
				err = r.dev.Backend.Identity(v, j0)
			}
		}
	}
	for b := range from.Blocks() {
		x, e := from.Broadcast(b)
		if e != nil {
			return 0, e
		}
		if !l.KeepSource {
			delete(from.Own, b)
		}
		for _, r := range l.runners {
			for slot, column := range at[r.id] {
				if err == nil {
					largest, err = l.writeBlock(r, slot, column, b, x, largest)
				}
			}
		}
	}
	return largest, err
}

// writeBlock writes what block b of the source has of a macro block-column, and returns its largest
// magnitude or the one given.
func (l distributor) writeBlock(r *runner, slot, column, b int, x []float64,
	largest float64) (float64, error) {
	g, _ := l.panels(r, slot, column)
	b0, b1 := l.Source.Span(b)
	j0, j1 := l.layout.Macro(column)
	from, to := max(b0, j0), min(b1, j1)
	if from >= to {
		return largest, nil
	}
	part := x[(from-b0)*g.M : (to-b0)*g.M]
	for _, e := range part {
		largest = math.Max(largest, math.Abs(e))
	}
	return largest, r.dev.Backend.Write(g.Columns(from-j0, to-j0), part, g.M)
}

// readMacro reads one macro block-column, and returns its largest magnitude or the one given.
func (l distributor) readMacro(r *runner, slot, column int, largest float64) (float64, error) {
	g, v := l.panels(r, slot, column)
	j0, _ := l.layout.Macro(column)
	err := chunks(g, func(a, b int, buf []float64) error {
		if err := l.Load(j0+a, j0+b, buf); err != nil {
			return err
		}
		for _, x := range buf {
			largest = math.Max(largest, math.Abs(x))
		}
		return r.dev.Backend.Write(g.Columns(a, b), buf, g.M)
	})
	if err != nil {
		return 0, err
	}
	if v.N > 0 {
		return largest, r.dev.Backend.Identity(v, j0)
	}
	return largest, nil
}

// scaleAll multiplies G by 2^e on the devices of this rank.
func (l distributor) scaleAll(e int) error {
	if e == 0 {
		return nil
	}
	return l.each(func(r *runner, slot, column int) error {
		g, _ := l.panels(r, slot, column)
		err := chunks(g, func(a, b int, buf []float64) error {
			part := g.Columns(a, b)
			if err := r.dev.Backend.Read(buf, g.M, part); err != nil {
				return err
			}
			dense.Ldexp(buf, e)
			return r.dev.Backend.Write(part, buf, g.M)
		})
		if err != nil {
			return fmt.Errorf("jacobi: scale: %w", err)
		}
		return nil
	})
}

// chunks calls f for ranges of columns of a panel with a buffer of that size, column-major without padding.
func chunks(p kernels.Panel, f func(a, b int, buf []float64) error) error {
	if p.M == 0 || p.N == 0 {
		return nil
	}
	width := max(1, min(p.N, chunkBytes/(p.M*kernels.WordBytes)))
	buf := make([]float64, width*p.M)
	for a := 0; a < p.N; a += width {
		b := min(a+width, p.N)
		if err := f(a, b, buf[:(b-a)*p.M]); err != nil {
			return err
		}
	}
	return nil
}
