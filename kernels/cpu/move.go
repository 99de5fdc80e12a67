package cpu

import (
	"fmt"

	"jmpi/kernels"
)

// pieceBytes is about the size of a task that only moves data.
const pieceBytes = 1 << 20

// eachColumns calls f for groups of p's columns, j0 ≤ j < j1, on the device's threads.
func (d *device) eachColumns(p kernels.Panel, f func(j0, j1 int)) error {
	return d.eachPiece([]kernels.Panel{p}, moved, func(_, j0, j1 int) { f(j0, j1) })
}

// moved is the number of p's columns that one task moves.
func moved(p kernels.Panel) int { return max(1, pieceBytes/kernels.WordBytes/max(p.M, 1)) }

// eachColumn calls f for each of p's columns, on the device's threads.
func (d *device) eachColumn(p kernels.Panel, f func(j int, c []float64)) error {
	return d.eachColumns(p, func(j0, j1 int) {
		for j := j0; j < j1; j++ {
			f(j, column(p, j))
		}
	})
}

func (d *device) Write(dst kernels.Panel, src []float64, ld int) error {
	return d.written("Write", dst, src, ld)
}

func (d *device) written(operation string, dst kernels.Panel, src []float64, ld int) error {
	err := dst.CheckHost("dst", src, ld)
	if err == nil {
		err = d.eachColumn(dst, func(j int, c []float64) {
			copy(c, src[j*ld:j*ld+dst.M])
		})
	}
	return named(operation, err)
}

func (d *device) Put(dst kernels.Panel, x []float64) error {
	return d.written("Put", dst, x, max(1, dst.M))
}

func (d *device) Read(dst []float64, ld int, src kernels.Panel) error {
	err := src.CheckHost("src", dst, ld)
	if err == nil {
		err = d.eachColumn(src, func(j int, c []float64) {
			copy(dst[j*ld:j*ld+src.M], c)
		})
	}
	if err != nil {
		return fmt.Errorf("cpu: Read: %w", err)
	}
	return nil
}

func (d *device) Copy(dst, src kernels.Panel) error { return d.copied("Copy", dst, src) }

func (d *device) copied(operation string, dst, src kernels.Panel) error {
	err := kernels.CheckCopy(dst, src)
	if err == nil {
		err = d.eachColumns(dst, func(j0, j1 int) {
			convertTo(dst.Type, src.Type)(dst.Columns(j0, j1), src.Columns(j0, j1))
		})
	}
	return named(operation, err)
}

// Mark, Follow and Await have nothing to do: all is done when a primitive returns.
func (d *device) Mark() (kernels.Mark, error) { return 0, nil }

func (d *device) Follow(...kernels.Mark) error { return nil }

func (d *device) Await(...kernels.Mark) error { return nil }

func (d *device) Bring(dst, src []kernels.Panel, _ ...kernels.Mark) (kernels.Mark, error) {
	err := named("Bring", kernels.CheckBring(dst, src))
	for k := 0; k < len(dst) && err == nil; k++ {
		err = d.copied("Bring", dst[k], src[k])
	}
	return 0, err
}

// Beside has nothing else to be beside of.
func (d *device) Beside(f func() error, _ ...kernels.Mark) (kernels.Mark, error) { return 0, f() }

func (d *device) Identity(dst kernels.Panel, row0 int) error {
	err := dst.CheckAny("dst")
	if err == nil {
		err = d.eachColumns(dst, func(j0, j1 int) {
			if part := dst.Columns(j0, j1); dst.Type == kernels.Float32 {
				identity[float32](part, row0+j0)
			} else {
				identity[float64](part, row0+j0)
			}
		})
	}
	return named("Identity", err)
}

func identity[T real](dst kernels.Panel, row0 int) {
	for j := range dst.N {
		c := columnOf[T](dst, j)
		clear(c)
		if i := j + row0; i >= 0 && i < dst.M {
			c[i] = 1
		}
	}
}
