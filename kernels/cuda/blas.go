package cuda

import (
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// cublas is NVIDIA's cuBLAS, opened at run time when it is first needed.
type cublas struct {
	cublasCreate, cublasDestroy, cublasSetStream, cublasSetWorkspace, cublasDgemm, cublasSgemm, cublasDtrsm,
	cublasStrsm uintptr
}

var loadBLAS = loader("cuBLAS", nvidia.CUBLAS, func(c *cublas) nvidia.Routines {
	return nvidia.Routines{
		"cublasCreate_v2": &c.cublasCreate, "cublasDestroy_v2": &c.cublasDestroy,
		"cublasSetStream_v2": &c.cublasSetStream, "cublasSetWorkspace_v2": &c.cublasSetWorkspace,
		"cublasDgemm_v2": &c.cublasDgemm, "cublasSgemm_v2": &c.cublasSgemm,
		"cublasDtrsm_v2": &c.cublasDtrsm, "cublasStrsm_v2": &c.cublasStrsm,
	}
})

// blas is a device's handle of cuBLAS, in its default mode: no emulation, no TF32, no atomics.
type blas struct {
	api    *cublas
	handle uintptr
}

// blasWorkspace is the size of cuBLAS's workspace that NVIDIA advises for the newest GPUs. With one of its
// own a handle gives the same bits in every run.
const blasWorkspace = 32 << 20

// Values of cuBLAS's enumerations.
const (
	sideRight    = 1
	fillUpper    = 1 // of cuSOLVER too
	noTranspose  = 0
	doTranspose  = 1
	diagonalFree = 0 // not a unit diagonal
)

func (b *blas) check(call string, code int32) error {
	return checkCall("cuBLAS", call, code)
}

func (b *blas) open(d *device) error {
	err := d.together("cuBLAS")
	if err != nil || b.handle != 0 {
		return err
	}
	if b.api, err = loadBLAS(); err != nil {
		return err
	}
	workspace, err := d.need("cuBLAS", blasWorkspace)
	if err != nil {
		return err
	}
	var handle uintptr
	if err := b.check("cublasCreate", nvidia.Invoke(b.api.cublasCreate,
		uintptr(unsafe.Pointer(&handle)))); err != nil {
		return err
	}
	b.handle = handle
	// a new stream takes the workspace away
	if err := b.check("cublasSetStream", nvidia.Invoke(b.api.cublasSetStream, handle, d.stream)); err != nil {
		return err
	}
	return b.check("cublasSetWorkspace", nvidia.Invoke(b.api.cublasSetWorkspace, handle, uintptr(workspace),
		blasWorkspace))
}

// operation is a transposition as cuBLAS wants it.
func operation(transposed bool) uintptr {
	if transposed {
		return doTranspose
	}
	return noTranspose
}

// leading is a leading dimension as libraries want it: 0 is none, even for an empty matrix.
func leading(p kernels.Panel) uintptr { return uintptr(max(1, p.Ld)) }

// scalar is a number of one of the element types in host memory.
type scalar struct {
	double float64
	single float32
}

func (s *scalar) of(t kernels.Element) unsafe.Pointer {
	if t == kernels.Float32 {
		return unsafe.Pointer(&s.single)
	}
	return unsafe.Pointer(&s.double)
}

func newScalar(x float64) *scalar { return &scalar{x, float32(x)} }

// gemm does C ← α·op(A)·op(B) + β·C by one call.
func (b *blas) gemm(d *device, g kernels.Gemm) error {
	m, n, k := g.C.M, g.C.N, g.Inner()
	if m == 0 || n == 0 {
		return nil
	}
	if err := b.open(d); err != nil {
		return err
	}
	name, routine := "cublasDgemm", b.api.cublasDgemm
	if g.C.Type == kernels.Float32 {
		name, routine = "cublasSgemm", b.api.cublasSgemm
	}
	alpha, beta := newScalar(g.Alpha), newScalar(g.Beta)
	return b.check(name, nvidia.Invoke(routine, b.handle, operation(g.TransA), operation(g.TransB), uintptr(m),
		uintptr(n), uintptr(k), uintptr(alpha.of(g.C.Type)), uintptr(g.A.Data), leading(g.A), uintptr(g.B.Data),
		leading(g.B), uintptr(beta.of(g.C.Type)), uintptr(g.C.Data), leading(g.C)))
}

// trsm does B ← B·op(R)⁻¹ for an upper triangular R.
func (b *blas) trsm(d *device, x, r kernels.Panel, transposed bool) error {
	if x.M == 0 || x.N == 0 {
		return nil
	}
	if err := b.open(d); err != nil {
		return err
	}
	name, routine := "cublasDtrsm", b.api.cublasDtrsm
	if x.Type == kernels.Float32 {
		name, routine = "cublasStrsm", b.api.cublasStrsm
	}
	one := newScalar(1)
	return b.check(name, nvidia.Invoke(routine, b.handle, sideRight, fillUpper, operation(transposed),
		diagonalFree, uintptr(x.M), uintptr(x.N), uintptr(one.of(x.Type)), uintptr(r.Data), leading(r),
		uintptr(x.Data), leading(x)))
}

func (b *blas) close() error {
	if b.handle == 0 {
		return nil
	}
	err := b.check("cublasDestroy", nvidia.Invoke(b.api.cublasDestroy, b.handle))
	b.handle = 0
	return err
}
