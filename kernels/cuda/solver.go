package cuda

import (
	"fmt"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// cusolver is NVIDIA's cuSOLVER, opened at run time when it is first needed.
type cusolver struct {
	cusolverDnCreate, cusolverDnDestroy, cusolverDnSetStream, cusolverDnDpotrfBufferSize,
	cusolverDnDpotrf uintptr
	geqrf [2]struct{ size, factor uintptr } // by kernels.Element
}

var loadSolver = loader("cuSOLVER", nvidia.CUSOLVER, func(c *cusolver) nvidia.Routines {
	return nvidia.Routines{
		"cusolverDnCreate": &c.cusolverDnCreate, "cusolverDnDestroy": &c.cusolverDnDestroy,
		"cusolverDnSetStream":         &c.cusolverDnSetStream,
		"cusolverDnDgeqrf_bufferSize": &c.geqrf[kernels.Float64].size,
		"cusolverDnDgeqrf":            &c.geqrf[kernels.Float64].factor,
		"cusolverDnSgeqrf_bufferSize": &c.geqrf[kernels.Float32].size,
		"cusolverDnSgeqrf":            &c.geqrf[kernels.Float32].factor,
		"cusolverDnDpotrf_bufferSize": &c.cusolverDnDpotrfBufferSize,
		"cusolverDnDpotrf":            &c.cusolverDnDpotrf,
	}
})

// solver is a device's handle of cuSOLVER.
type solver struct {
	api    *cusolver
	handle uintptr
}

func (s *solver) check(call string, code int32) error {
	return checkCall("cuSOLVER", call, code)
}

func (s *solver) open(d *device) error {
	err := d.together("cuSOLVER")
	if err != nil || s.handle != 0 {
		return err
	}
	if s.api, err = loadSolver(); err != nil {
		return err
	}
	if err := s.check("cusolverDnCreate", nvidia.Invoke(s.api.cusolverDnCreate,
		uintptr(unsafe.Pointer(&s.handle)))); err != nil {
		return err
	}
	return s.check("cusolverDnSetStream", nvidia.Invoke(s.api.cusolverDnSetStream, s.handle, d.stream))
}

// geqrf overwrites the m×k matrix a, leading dimension m, by its QR factorization.
func (s *solver) geqrf(d *device, m, k int, a kernels.Address, e kernels.Element) error {
	if err := s.open(d); err != nil {
		return fmt.Errorf("pivots of order over %d: %w", d.order(), err)
	}
	rows, columns, ld := uintptr(m), uintptr(k), uintptr(m)
	var elements int32
	call, routines := "cusolverDn"+letter(e)+"geqrf", s.api.geqrf[e]
	code := nvidia.Invoke(routines.size, s.handle, rows, columns, uintptr(a), ld,
		uintptr(unsafe.Pointer(&elements)))
	if err := s.check(call+"_bufferSize", code); err != nil {
		return err
	}
	// The scalars of the reflectors, the status, and the workspace.
	work, err := d.need("cuSOLVER", (int64(k)+1+int64(elements))*kernels.WordBytes)
	if err != nil {
		return err
	}
	info := work + kernels.Address(k*kernels.WordBytes)
	code = nvidia.Invoke(routines.factor, s.handle, rows, columns, uintptr(a), ld, uintptr(work),
		uintptr(info)+kernels.WordBytes, uintptr(elements), uintptr(info))
	return s.check(call, code)
}

// letter is what the libraries call an element type.
func letter(e kernels.Element) string {
	if e == kernels.Float32 {
		return "S"
	}
	return "D"
}

// potrf overwrites the upper triangle of a by its Cholesky factor, and the int32 at info by 0, or by the
// number, from 1, of the column whose pivot is not positive.
func (s *solver) potrf(d *device, a kernels.Panel, info kernels.Address) error {
	if err := s.open(d); err != nil {
		return err
	}
	var elements int32
	code := nvidia.Invoke(s.api.cusolverDnDpotrfBufferSize, s.handle, fillUpper, uintptr(a.N), uintptr(a.Data),
		leading(a), uintptr(unsafe.Pointer(&elements)))
	if err := s.check("cusolverDnDpotrf_bufferSize", code); err != nil {
		return err
	}
	work, err := d.need("cuSOLVER", int64(elements)*kernels.WordBytes)
	if err != nil {
		return err
	}
	code = nvidia.Invoke(s.api.cusolverDnDpotrf, s.handle, fillUpper, uintptr(a.N), uintptr(a.Data), leading(a),
		uintptr(work), uintptr(elements), uintptr(info))
	return s.check("cusolverDnDpotrf", code)
}

func (s *solver) close() error {
	if s.handle == 0 {
		return nil
	}
	err := s.check("cusolverDnDestroy", nvidia.Invoke(s.api.cusolverDnDestroy, s.handle))
	s.handle = 0
	return err
}
