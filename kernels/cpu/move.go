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
	err := checkHost("dst", dst, src, ld)
	if err == nil {
		err = d.eachColumn(dst, func(j int, c []float64) {
			copy(c, src[j*ld:j*ld+dst.M])
		})
	}
	if err != nil {
		return fmt.Errorf("cpu: Write: %w", err)
	}
	return nil
}

func (d *device) Read(dst []float64, ld int, src kernels.Panel) error {
	err := checkHost("src", src, dst, ld)
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

func (d *device) Copy(dst, src kernels.Panel) error {
	err := dst.Check("dst")
	if err == nil {
		err = src.Check("src")
	}
	if err == nil && (dst.M != src.M || dst.N != src.N) {
		err = fmt.Errorf("%w: dst is %d×%d, src %d×%d", kernels.ErrShape, dst.M, dst.N, src.M, src.N)
	}
	if err == nil {
		err = d.eachColumn(dst, func(j int, c []float64) {
			copy(c, column(src, j))
		})
	}
	if err != nil {
		return fmt.Errorf("cpu: Copy: %w", err)
	}
	return nil
}

func (d *device) Identity(dst kernels.Panel, row0 int) error {
	err := dst.Check("dst")
	if err == nil {
		err = d.eachColumn(dst, func(j int, c []float64) {
			clear(c)
			if i := j + row0; i >= 0 && i < dst.M {
				c[i] = 1
			}
		})
	}
	if err != nil {
		return fmt.Errorf("cpu: Identity: %w", err)
	}
	return nil
}

// checkHost tells whether a host matrix with leading dimension ld has room for the panel p.
func checkHost(name string, p kernels.Panel, host []float64, ld int) error {
	if err := p.Check(name); err != nil {
		return err
	}
	if p.M > 0 && p.N > 0 && (ld < p.M || len(host) < ld*(p.N-1)+p.M) {
		return fmt.Errorf("%w: the host matrix has %d elements with ld %d, %s is %d×%d", kernels.ErrShape,
			len(host), ld, name, p.M, p.N)
	}
	return nil
}
