package cuda

import (
	"fmt"
	"math"

	"jmpi/kernels"
)

// Gemm calls cuBLAS once for each product, so that its bits depend on its own shape alone.
func (d *device) Gemm(products []kernels.Gemm) error {
	for i, g := range products {
		if err := checkGemm(g); err != nil {
			return fmt.Errorf("cuda: Gemm: product %d: %w", i, err)
		}
	}
	return d.entered("Gemm", func() error { return d.gemms(products...) })
}

// gemms queues products that have been checked.
func (d *device) gemms(products ...kernels.Gemm) error {
	for _, g := range products {
		if err := d.blas.gemm(d, g); err != nil {
			return err
		}
	}
	return nil
}

func checkGemm(g kernels.Gemm) error {
	for _, x := range []struct {
		name string
		p    kernels.Panel
	}{{"A", g.A}, {"B", g.B}, {"C", g.C}} {
		if err := x.p.CheckAny(x.name); err != nil {
			return err
		}
		if x.p.Type != g.C.Type {
			return fmt.Errorf("%w: %s and C have different element types", kernels.ErrShape, x.name)
		}
	}
	m, k, l, n := g.A.M, g.A.N, g.B.M, g.B.N
	if g.TransA {
		m, k = k, m
	}
	if g.TransB {
		l, n = n, l
	}
	if m != g.C.M || n != g.C.N || k != l {
		return fmt.Errorf("%w: op(A) is %d×%d, op(B) %d×%d, C %d×%d", kernels.ErrShape, m, k, l, n, g.C.M, g.C.N)
	}
	return nil
}

// Syrk forms the whole product, of which the upper triangle counts: for few columns and many rows cuBLAS has
// a faster gemm than syrk.
func (d *device) Syrk(alpha float64, a kernels.Panel, beta float64, c kernels.Panel) error {
	g := kernels.Gemm{TransA: true, Alpha: alpha, A: a, B: a, Beta: beta, C: c}
	if err := checkGemm(g); err != nil {
		return fmt.Errorf("cuda: Syrk: %w", err)
	}
	return d.entered("Syrk", func() error {
		if err := d.gemms(g); err != nil {
			return err
		}
		return d.lower(c, true)
	})
}

// lower queues the kernel that mirrors the upper triangle of a square panel, or clears the lower one.
func (d *device) lower(p kernels.Panel, mirror bool) error {
	how := uint64(0)
	if mirror {
		how = 1
	}
	tiles := ceil(p.N, 32)
	return d.launch("lower_"+bits(p), tiles, min(tiles, gridLimit), 1, 256, 0, word(p.Data), uint64(p.N),
		uint64(p.Ld), how)
}

func (d *device) Trsm(b, r kernels.Panel, transposed bool) error {
	err := b.CheckAny("B")
	if err == nil {
		err = r.CheckAny("R")
	}
	if err == nil && (r.M != b.N || r.N != b.N || r.Type != b.Type) {
		err = fmt.Errorf("%w: B is %d×%d, R %d×%d, or of another element type", kernels.ErrShape, b.M, b.N, r.M,
			r.N)
	}
	if err != nil {
		return fmt.Errorf("cuda: Trsm: %w", err)
	}
	return d.entered("Trsm", func() error { return d.blas.trsm(d, b, r, transposed) })
}

func (d *device) Potrf(a kernels.Panel) (done int, err error) {
	if err = a.Check("A"); err == nil && a.M != a.N {
		err = fmt.Errorf("%w: A is %d×%d, must be square", kernels.ErrShape, a.M, a.N)
	}
	if err != nil {
		return 0, fmt.Errorf("cuda: Potrf: %w", err)
	}
	if a.N == 0 {
		return 0, nil
	}
	info := kernels.Panel{M: 1, N: 1, Ld: 1}
	err = d.entered("Potrf", func() (err error) {
		if info.Data, err = d.need("status of Potrf", kernels.WordBytes); err != nil {
			return err
		}
		if err := d.solver.potrf(d, a, info.Data); err != nil {
			return err
		}
		return d.lower(a, false)
	})
	if err != nil {
		return 0, err
	}
	var word [1]float64
	if err := d.Read(word[:], 1, info); err != nil {
		return 0, err
	}
	switch status := int32(math.Float64bits(word[0])); {
	case status < 0:
		return 0, fmt.Errorf("cuda: Potrf: %w", &callError{"cusolverDnDpotrf", status, "an argument is wrong"})
	case status > 0:
		return int(status) - 1, nil
	}
	return a.N, nil
}
