package rivals

import (
	"errors"
	"fmt"

	"jmpi/internal/nvidia"
)

// DeviceDgemm returns the best speed, in GFLOP/s, of three products of n×n matrices by cuBLAS on
// the GPU with this number among those that the driver shows. The error wraps ErrMissing where
// there is no GPU or no cuBLAS.
func DeviceDgemm(n, ordinal int) (gflops float64, err error) {
	d, err := openDevice(ordinal)
	if err != nil {
		return 0, fmt.Errorf("cuBLAS: %w", err)
	}
	defer func() { err = errors.Join(err, d.close()) }()
	var (
		create  func(handle *uintptr) int32
		destroy func(handle uintptr) int32
		dgemm   func(handle uintptr, transA, transB, m, n, k int32, alpha *float64, a uintptr, lda int32, b uintptr,
			ldb int32, beta *float64, c uintptr, ldc int32) int32
	)
	l, err := nvidia.CUBLAS()
	if err != nil {
		return 0, fmt.Errorf("cuBLAS: %w", err)
	}
	if err := l.Register(map[string]any{"cublasCreate_v2": &create, "cublasDestroy_v2": &destroy,
		"cublasDgemm_v2": &dgemm}); err != nil {
		return 0, fmt.Errorf("cuBLAS: %w", err)
	}
	err = d.do(func() error {
		var handle uintptr
		if err := status("cublasCreate", create(&handle)); err != nil {
			return err
		}
		defer destroy(handle)
		var x [3]uintptr
		host := make([]float64, n*n)
		for i := range host {
			host[i] = float64(i % 7)
		}
		for i := range x {
			var err error
			if x[i], err = d.numbers(n * n); err != nil {
				return err
			}
			if err := d.put(x[i], host); err != nil {
				return err
			}
		}
		one, zero, order := 1.0, 0.0, int32(n)
		for range 3 {
			seconds, err := d.timed(func() error {
				return status("cublasDgemm", dgemm(handle, 0, 0, order, order, order, &one, x[0], order, x[1], order,
					&zero, x[2], order))
			})
			if err != nil {
				return err
			}
			gflops = max(gflops, 2*float64(n)*float64(n)*float64(n)/seconds/1e9)
		}
		return nil
	})
	return gflops, err
}
