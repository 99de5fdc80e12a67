package cuda

import (
	"fmt"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// elementwise queues a kernel of shape.cu that has a thread for every row of an m×n panel.
func (d *device) elementwise(name string, m, n int, words ...uint64) error {
	return d.launch(name, ceil(m, 256), min(n, gridLimit), 1, 256, 0, words...)
}

// bits names the element type of a panel in the names of kernels.
func bits(p kernels.Panel) string {
	if p.Type == kernels.Float32 {
		return "32"
	}
	return "64"
}

// checkPair tells whether dst and src are possible panels, and dst is m×n.
func checkPair(dst, src kernels.Panel, m, n int) error {
	if err := dst.CheckAny("dst"); err != nil {
		return err
	}
	if err := src.CheckAny("src"); err != nil {
		return err
	}
	if dst.M != m || dst.N != n {
		return fmt.Errorf("%w: dst is %d×%d, src %d×%d", kernels.ErrShape, dst.M, dst.N, src.M, src.N)
	}
	return nil
}

func (d *device) Convert(dst, src kernels.Panel) error {
	if err := checkPair(dst, src, src.M, src.N); err != nil {
		return fmt.Errorf("cuda: Convert: %w", err)
	}
	return d.entered("Convert", func() error {
		return d.elementwise("convert_"+bits(dst)+"_"+bits(src), dst.M, dst.N, word(dst.Data), uint64(dst.Ld),
			word(src.Data), uint64(src.Ld), uint64(dst.M), uint64(dst.N))
	})
}

func (d *device) Zero(p kernels.Panel) error {
	if err := p.CheckAny("panel"); err != nil {
		return fmt.Errorf("cuda: Zero: %w", err)
	}
	return d.entered("Zero", func() error { return d.zero(p) })
}

// zero queues the writing of zeros.
func (d *device) zero(p kernels.Panel) error {
	if p.M == 0 || p.N == 0 {
		return nil
	}
	size := uintptr(p.Type.Bytes())
	return d.check("cuMemsetD2D8Async", nvidia.Invoke(d.cuMemsetD2D8Async, uintptr(p.Data), uintptr(p.Ld)*size,
		0, uintptr(p.M)*size, uintptr(p.N), d.stream))
}

func (d *device) Transpose(dst, src kernels.Panel) error {
	err := checkPair(dst, src, src.N, src.M)
	if err == nil && dst.Type != src.Type {
		err = fmt.Errorf("%w: dst and src have different element types", kernels.ErrShape)
	}
	if err != nil {
		return fmt.Errorf("cuda: Transpose: %w", err)
	}
	return d.entered("Transpose", func() error {
		return d.launch("transpose_"+bits(src), ceil(src.M, 32), min(ceil(src.N, 32), gridLimit), 1, 256, 0,
			word(dst.Data), uint64(dst.Ld), word(src.Data), uint64(src.Ld), uint64(src.M), uint64(src.N))
	})
}

func (d *device) Scale(p kernels.Panel, rows, columns []float64) error {
	if err := checkFactors(p, rows, columns); err != nil {
		return fmt.Errorf("cuda: Scale: %w", err)
	}
	return d.entered("Scale", func() error {
		ofRows, err := d.numbers("factors of rows", rows)
		if err != nil {
			return err
		}
		ofColumns, err := d.numbers("factors of columns", columns)
		if err != nil {
			return err
		}
		return d.elementwise("scale", p.M, p.N, word(p.Data), uint64(p.M), uint64(p.N), uint64(p.Ld), word(ofRows),
			word(ofColumns))
	})
}

// checkFactors tells whether there is a number for every row and column of p, or none.
func checkFactors(p kernels.Panel, rows, columns []float64) error {
	if err := p.Check("panel"); err != nil {
		return err
	}
	if rows != nil && len(rows) != p.M || columns != nil && len(columns) != p.N {
		return fmt.Errorf("%w: %d numbers for the rows and %d for the columns of a %d×%d panel", kernels.ErrShape,
			len(rows), len(columns), p.M, p.N)
	}
	return nil
}

// farthest is more than any two exponents of float64 differ by.
const farthest = 3000

func (d *device) Ldexp(p kernels.Panel, e int) error {
	if err := p.Check("panel"); err != nil {
		return fmt.Errorf("cuda: Ldexp: %w", err)
	}
	e = max(-farthest, min(e, farthest))
	return d.entered("Ldexp", func() error {
		return d.elementwise("multiply_power", p.M, p.N, word(p.Data), uint64(p.M), uint64(p.N), uint64(p.Ld),
			uint64(e))
	})
}
