package jacobi

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/kernels"
	"jmpi/node"
)

// chunkBytes bounds the host memory through which block-columns are read and written.
const chunkBytes = 32 << 20

// distributor makes block-columns of a matrix.
type distributor struct {
	*spread
	Problem
	journal *checkpoint.Journal
}

// distribute makes block-columns of the matrix, scaled by a power of two so that its largest entry lies in
// [2^(top−1), 2^top), and of V; `at` has the two macro block-columns of each device. It returns the exponent
// e of the scaling, G = 2^-e·A, the norm below which columns are rounding errors, and the seconds of loading.
// It is collective.
func (l distributor) distribute(at map[int][2]int) (e int, floor, loading float64, err error) {
	for _, r := range l.runners {
		for slot, column := range at[r.id] {
			r.dev.SetColumn(slot, column)
		}
	}
	if err := l.takeRight(at); err != nil {
		return 0, 0, 0, err
	}
	begin := time.Now()
	switch {
	case l.Source == nil:
		e, err = l.takeLoaded()
		loading = time.Since(begin).Seconds()
	case l.Precision == kernels.Float32:
		e, err = l.takeSingle(at)
	default:
		e, err = l.takeSource(at)
	}
	if err != nil {
		return 0, 0, 0, err
	}
	norms, err := l.norms(false)
	if err := comm.Agree(l.comm, comm.BadResource, err); err != nil {
		return 0, 0, 0, err
	}
	return e, floorOf(norms, l.Precision), loading, nil
}

// scaled scales G, of which this rank has elements up to the largest, and returns the exponent. err is what
// went wrong before. It is collective.
func (l distributor) scaled(largest float64, err error) (e int, _ error) {
	if err := comm.Agree(l.comm, comm.KindOf(err), err); err != nil {
		return 0, err
	}
	if e, err = matrix.CommonExponent(l.comm, largest); err != nil {
		return 0, err
	}
	return e, comm.Agree(l.comm, comm.BadResource, l.scaleAll(-e))
}

// takeLoaded reads the block-columns of this rank's devices by Load, and scales them. It is collective.
func (l distributor) takeLoaded() (int, error) {
	largest := 0.0
	err := l.each(func(r *runner, slot, column int) (err error) {
		largest, err = l.readMacro(r, slot, column, largest)
		return err
	})
	return l.scaled(largest, err)
}

// takeSource copies the block-columns of all devices from Source, and scales them. It is collective.
func (l distributor) takeSource(at map[int][2]int) (int, error) {
	largest, err := l.Source.Largest()
	if err == nil {
		err = l.Source.Give(l.targets(at, func(b node.Block) kernels.Panel { return b.G }), nil)
	}
	l.done()
	if err != nil {
		return 0, err // nothing is agreed upon: others may wait for columns of this rank
	}
	return l.scaled(largest, nil)
}

// done gives the memory of Source back, when no checkpoint needs it.
func (l distributor) done() {
	if !l.KeepSource {
		l.journal.Retire(l.Source.Free)
	}
}

// takeRight makes V of Right, or of the identity. It is collective.
func (l distributor) takeRight(at map[int][2]int) error {
	if l.Right != nil {
		defer l.Right.Free()
		// The error is not agreed upon: others may wait for columns of this rank.
		return l.Right.Give(l.targets(at, func(b node.Block) kernels.Panel { return b.V }), nil)
	}
	return comm.Agree(l.comm, comm.BadResource, l.each(func(r *runner, slot, column int) error {
		v := l.panels(r, slot, column).V
		if v.N == 0 {
			return nil
		}
		j0, _ := l.layout.Macro(column)
		return r.dev.Backend.Identity(v, j0)
	}))
}

// targets names the block-columns of all devices as columns of a matrix, with the panels of this rank.
func (l distributor) targets(at map[int][2]int, of func(node.Block) kernels.Panel) (all []matrix.Columns) {
	for _, id := range slices.Sorted(maps.Keys(at)) {
		for slot, column := range at[id] {
			j0, j1 := l.layout.Macro(column)
			c := matrix.Columns{Device: id, To: matrix.Natural(j1)[j0:]}
			if r := l.runner(id); r != nil {
				c.Panel = of(l.panels(r, slot, column))
			}
			all = append(all, c)
		}
	}
	return all
}

// readMacro reads one macro block-column, and returns its largest magnitude or the one given.
func (l distributor) readMacro(r *runner, slot, column int, largest float64) (float64, error) {
	g := l.panels(r, slot, column).G
	j0, _ := l.layout.Macro(column)
	err := chunks(g, func(a, b int, buf []float64) error {
		if err := comm.Input(l.Load(j0+a, j0+b, buf)); err != nil {
			return err
		}
		for _, x := range buf {
			largest = math.Max(largest, math.Abs(x))
		}
		return r.dev.Backend.Write(g.Columns(a, b), buf, g.M)
	})
	return largest, err
}

// scaleAll multiplies G by 2^e on the devices of this rank.
func (l distributor) scaleAll(e int) error {
	if e == 0 {
		return nil
	}
	return l.each(func(r *runner, slot, column int) error {
		if err := r.dev.Backend.Ldexp(l.panels(r, slot, column).G, e); err != nil {
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
