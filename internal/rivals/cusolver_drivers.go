package rivals

import "unsafe"

// Constants of cusolver_common.h and library_types.h.
const (
	float64Type    = 1         // CUDA_R_64F
	vectors        = 1         // CUSOLVER_EIG_MODE_VECTOR
	economy        = 1         // U is m×n, not m×m
	columns        = int8('S') // U is m×n, Vᵀ n×n
	looseTolerance = 1e-14     // of "gesvdj-1e-14"
)

// prepareGesvd is bidiagonalisation and QR iteration.
func (c *CUSOLVER) prepareGesvd(s *deviceSVD) (func() error, error) {
	m, n := int64(s.m), int64(s.n)
	s.transposed = true
	err := status("cusolverDnXgesvd_bufferSize",
		c.gesvdSize(c.handle, c.params, columns, columns, m, n, float64Type, s.a, m, float64Type, s.sigma,
			float64Type, s.u, m, float64Type, s.v, n, float64Type, &s.bytes, &s.hostBytes))
	if err != nil {
		return nil, err
	}
	return func() error {
		return status("cusolverDnXgesvd", c.gesvd(c.handle, c.params, columns, columns, m, n, float64Type, s.a, m,
			float64Type, s.sigma, float64Type, s.u, m, float64Type, s.v, n, float64Type, s.work, s.bytes, s.hostWork,
			s.hostBytes, s.info))
	}, c.workspaces(s)
}

// prepareGesvdp is the polar decomposition and an eigenvalue decomposition of its Hermitian factor.
func (c *CUSOLVER) prepareGesvdp(s *deviceSVD) (func() error, error) {
	m, n := int64(s.m), int64(s.n)
	err := status("cusolverDnXgesvdp_bufferSize",
		c.gesvdpSize(c.handle, c.params, vectors, economy, m, n, float64Type, s.a, m, float64Type, s.sigma,
			float64Type, s.u, m, float64Type, s.v, n, float64Type, &s.bytes, &s.hostBytes))
	if err != nil {
		return nil, err
	}
	return func() error {
		var shift float64 // by which the driver moved small singular values
		return status("cusolverDnXgesvdp", c.gesvdp(c.handle, c.params, vectors, economy, m, n, float64Type, s.a, m,
			float64Type, s.sigma, float64Type, s.u, m, float64Type, s.v, n, float64Type, s.work, s.bytes, s.hostWork,
			s.hostBytes, s.info, &shift))
	}, c.workspaces(s)
}

// prepareGesvdj is the Jacobi method.
func (c *CUSOLVER) prepareGesvdj(s *deviceSVD) (func() error, error) {
	m, n := int32(s.m), int32(s.n)
	var options uintptr
	if err := status("cusolverDnCreateGesvdjInfo", c.newOptions(&options)); err != nil {
		return nil, err
	}
	s.end = func() error { return status("cusolverDnDestroyGesvdjInfo", c.freeOptions(options)) }
	if s.driver == "gesvdj-1e-14" {
		if err := status("cusolverDnXgesvdjSetTolerance", c.setTolerance(options, looseTolerance)); err != nil {
			return nil, err
		}
	}
	var length int32
	err := status("cusolverDnDgesvdj_bufferSize",
		c.gesvdjSize(c.handle, vectors, economy, m, n, s.a, m, s.sigma, s.u, m, s.v, n, &length, options))
	if err != nil {
		return nil, err
	}
	s.bytes = 8 * uint64(max(length, 0))
	return func() error {
		return status("cusolverDnDgesvdj", c.gesvdj(c.handle, vectors, economy, m, n, s.a, m, s.sigma, s.u, m, s.v,
			n, s.work, length, s.info, options))
	}, c.workspaces(s)
}

// workspaces allocates what the driver wants.
func (c *CUSOLVER) workspaces(s *deviceSVD) (err error) {
	if s.hostBytes > 0 {
		s.hostWork = unsafe.Pointer(unsafe.SliceData(make([]byte, s.hostBytes)))
	}
	s.work, err = c.device.memory(s.bytes)
	return err
}
