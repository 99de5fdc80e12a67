package jacobi

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// chunkBytes bounds the host memory through which block-columns are read and written.
const chunkBytes = 32 << 20

// distributor makes block-columns of a matrix.
type distributor struct {
	*spread
	Problem
}

// distribute makes block-columns of the matrix, scaled by a power of two so that its largest entry lies in
// [2^(top−1), 2^top), and sets V to the identity; `at` has the two macro block-columns of each device. It
// returns the exponent e of the scaling, G = 2^-e·A, the norm below which columns are rounding errors, and
// the seconds of loading. It is collective.
func (l distributor) distribute(at map[int][2]int) (e int, floor, loading float64, err error) {
	take := l.takeLoaded
	if l.Source != nil {
		take = l.takeSource
	}
	begin := time.Now()
	largest, err := take(at)
	if err := comm.Agree(l.comm, comm.BadInput, err); err != nil {
		return 0, 0, 0, err
	}
	if l.Source == nil {
		loading = time.Since(begin).Seconds()
	}
	if e, err = matrix.CommonExponent(l.comm, largest); err != nil {
		return 0, 0, 0, err
	}
	if err := comm.Agree(l.comm, comm.BadResource, l.scaleAll(-e)); err != nil {
		return 0, 0, 0, err
	}
	norms, err := l.norms(false)
	if err := comm.Agree(l.comm, comm.BadResource, err); err != nil {
		return 0, 0, 0, err
	}
	return e, floorOf(norms), loading, nil
}

// takeLoaded reads the block-columns of this rank's devices by Load, and returns the largest magnitude.
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

// takeSource copies the block-columns of all devices from Source, and returns the largest magnitude on this
// rank. It is collective.
func (l distributor) takeSource(at map[int][2]int) (largest float64, err error) {
	if largest, err = l.Source.Largest(); err != nil {
		return 0, err
	}
	var to []matrix.Columns
	for _, id := range slices.Sorted(maps.Keys(at)) {
		for slot, column := range at[id] {
			j0, j1 := l.layout.Macro(column)
			c := matrix.Columns{Device: id, To: matrix.Natural(j1)[j0:]}
			for _, r := range l.runners {
				if r.id != id {
					continue
				}
				r.dev.SetColumn(slot, column)
				g, v := l.panels(r, slot, column)
				c.Panel = g
				if v.N > 0 {
					if err := r.dev.Backend.Identity(v, j0); err != nil {
						return 0, err
					}
				}
			}
			to = append(to, c)
		}
	}
	err = l.Source.Give(to)
	if !l.KeepSource {
		l.Source.Free()
	}
	return largest, err
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
		if err := r.dev.Backend.Ldexp(g, e); err != nil {
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
