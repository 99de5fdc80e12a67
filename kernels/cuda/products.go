package cuda

import (
	"fmt"
	"math"

	"jmpi/kernels"
)

// Gemm calls cuBLAS once for each product, so that its bits depend on its own shape alone, or on that of the
// whole.
func (d *device) Gemm(products []kernels.Gemm) error {
	return d.checked("Gemm", kernels.CheckGemm(products), func() error { return d.gemms(products...) })
}

// gemms queues products that have been checked.
func (d *device) gemms(products ...kernels.Gemm) error {
	for _, g := range products {
		multiply := d.blas.gemm
		if g.Of > 0 && g.C.M > 0 && g.C.N > 0 && g.Inner() > 0 {
			multiply = d.matmul.gemm
		}
		if err := multiply(d, g); err != nil {
			return err
		}
	}
	return nil
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

// Potrf looks at the diagonal of the factor too: cuSOLVER takes no notice of a pivot that is NaN.
func (d *device) Potrf(a kernels.Panel) (done int, err error) {
	status := kernels.Panel{M: 1, N: 1, Ld: 1}
	err = d.checked("Potrf", kernels.CheckPotrf(a), func() (err error) {
		if status.Data, err = d.need("status of Potrf", kernels.WordBytes); err != nil || a.N == 0 {
			return err
		}
		if err := d.solver.potrf(d, a, status.Data); err != nil {
			return err
		}
		return d.lower(a, false)
	})
	if err != nil || a.N == 0 {
		return 0, err
	}
	var word [1]float64
	diagonal := make([]float64, a.N)
	if err := d.Read(word[:], 1, status); err != nil {
		return 0, err
	}
	if err := d.Read(diagonal, 1, kernels.Panel{M: 1, N: a.N, Ld: a.Ld + 1, Data: a.Data}); err != nil {
		return 0, err
	}
	info := int32(math.Float64bits(word[0]))
	if info < 0 {
		return 0, fmt.Errorf("cuda: Potrf: %w", &callError{"cusolverDnDpotrf", info, "an argument is wrong"})
	}
	done = a.N
	if info > 0 {
		done = int(info) - 1
	}
	for j, pivot := range diagonal[:done] {
		if !(pivot > 0) {
			return j, nil
		}
	}
	return done, nil
}
