package cuda

import (
	"fmt"

	"jmpi/kernels"
)

func (d *device) Reflect(q kernels.Reflectors, transposed bool, c []kernels.Panel) error {
	err := checkReflectors(q, q.Y.M, q.Y.N)
	for i := range c {
		if err == nil {
			err = c[i].Check(fmt.Sprint("C ", i))
		}
		if err == nil && c[i].M != q.Y.M {
			err = fmt.Errorf("%w: C %d is %d×%d, Y %d×%d", kernels.ErrShape, i, c[i].M, c[i].N, q.Y.M, q.Y.N)
		}
	}
	if err != nil {
		return fmt.Errorf("cuda: Reflect: %w", err)
	}
	return d.entered("Reflect", func() error { return d.reflect(q, transposed, c...) })
}

// checkReflectors tells whether q are k reflectors of length m.
func checkReflectors(q kernels.Reflectors, m, k int) error {
	if err := q.Y.Check("Y"); err != nil {
		return err
	}
	if q.Y.M != m || q.Y.N != k {
		return fmt.Errorf("%w: Y is %d×%d, must be %d×%d", kernels.ErrShape, q.Y.M, q.Y.N, m, k)
	}
	return checkSquare("T", q.T, k)
}

func checkSquare(name string, p kernels.Panel, k int) error {
	if err := p.Check(name); err != nil {
		return err
	}
	if p.M != k || p.N != k {
		return fmt.Errorf("%w: %s is %d×%d, must be %d×%d", kernels.ErrShape, name, p.M, p.N, k, k)
	}
	return nil
}

// reflect queues C ← C − Y·(op(T)·(YᵀC)), three products for each C. Package internal/dense sums the first
// rows of YᵀC, the large ones, apart, and the others in pieces. Here the order of the sums is cuBLAS's, which
// has many partial sums where there are many rows and few columns.
func (d *device) reflect(q kernels.Reflectors, transposed bool, c ...kernels.Panel) error {
	k, widest := q.Y.N, 0
	for _, x := range c {
		widest = max(widest, x.N)
	}
	if k == 0 || q.Y.M == 0 {
		return nil
	}
	w := kernels.Panel{M: k, N: 2 * widest, Ld: k}
	var err error
	if w.Data, err = d.need("products with reflectors", w.Bytes()); err != nil {
		return err
	}
	for _, x := range c {
		w, tw := w.Columns(0, x.N), w.Columns(x.N, 2*x.N)
		if err := d.gemms(
			kernels.Gemm{TransA: true, Alpha: 1, A: q.Y, B: x, C: w},
			kernels.Gemm{TransA: transposed, Alpha: 1, A: q.T, B: w, C: tw},
			kernels.Gemm{Alpha: -1, A: q.Y, B: tw, Beta: 1, C: x},
		); err != nil {
			return err
		}
	}
	return nil
}
