package rivals

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"jmpi/internal/nvidia"
)

// CUSOLVER is NVIDIA's cuSOLVER, opened for one GPU.
type CUSOLVER struct {
	device  *device
	library nvidia.Library
	version string
	handle  uintptr
	params  uintptr // of the 64-bit interface, all defaults
	warm    map[string]bool

	create     func(handle *uintptr) int32
	destroy    func(handle uintptr) int32
	newParams  func(params *uintptr) int32
	freeParams func(params uintptr) int32
	property   func(which int32, value *int32) int32
	gesvdSize  func(handle, params uintptr, jobu, jobvt int8, m, n int64, typeA int32, a uintptr, lda int64,
		typeS int32, s uintptr, typeU int32, u uintptr, ldu int64, typeVT int32, vt uintptr, ldvt int64,
		computed int32, onDevice, onHost *uint64) int32
	gesvd func(handle, params uintptr, jobu, jobvt int8, m, n int64, typeA int32, a uintptr, lda int64,
		typeS int32, s uintptr, typeU int32, u uintptr, ldu int64, typeVT int32, vt uintptr, ldvt int64,
		computed int32, work uintptr, bytes uint64, hostWork unsafe.Pointer, hostBytes uint64, info uintptr) int32
	gesvdpSize func(handle, params uintptr, jobz, econ int32, m, n int64, typeA int32, a uintptr, lda int64,
		typeS int32, s uintptr, typeU int32, u uintptr, ldu int64, typeV int32, v uintptr, ldv int64,
		computed int32, onDevice, onHost *uint64) int32
	gesvdp func(handle, params uintptr, jobz, econ int32, m, n int64, typeA int32, a uintptr, lda int64,
		typeS int32, s uintptr, typeU int32, u uintptr, ldu int64, typeV int32, v uintptr, ldv int64,
		computed int32, work uintptr, bytes uint64, hostWork unsafe.Pointer, hostBytes uint64, info uintptr,
		shift *float64) int32
	gesvdjSize func(handle uintptr, jobz, econ, m, n int32, a uintptr, lda int32, s, u uintptr, ldu int32,
		v uintptr, ldv int32, lwork *int32, options uintptr) int32
	gesvdj func(handle uintptr, jobz, econ, m, n int32, a uintptr, lda int32, s, u uintptr, ldu int32,
		v uintptr, ldv int32, work uintptr, lwork int32, info, options uintptr) int32
	newOptions   func(options *uintptr) int32 // of gesvdj
	freeOptions  func(options uintptr) int32
	setTolerance func(options uintptr, tolerance float64) int32
}

// OpenCUSOLVER opens cuSOLVER for the GPU with this number among those that the driver shows. The error wraps
// ErrMissing where the machine has no GPU or no cuSOLVER.
func OpenCUSOLVER(ordinal int) (*CUSOLVER, error) {
	d, err := openDevice(ordinal)
	if err != nil {
		return nil, fmt.Errorf("cuSOLVER: %w", err)
	}
	c := &CUSOLVER{device: d, warm: map[string]bool{}}
	if err := d.do(c.open); err != nil {
		return nil, errors.Join(fmt.Errorf("cuSOLVER: %w", err), d.close())
	}
	return c, nil
}

func (c *CUSOLVER) open() (err error) {
	if c.library, err = nvidia.CUSOLVER(); err != nil {
		return err
	}
	if err := c.library.Register(map[string]any{
		"cusolverDnCreate": &c.create, "cusolverDnDestroy": &c.destroy, "cusolverGetProperty": &c.property,
		"cusolverDnCreateParams": &c.newParams, "cusolverDnDestroyParams": &c.freeParams,
		"cusolverDnXgesvd_bufferSize": &c.gesvdSize, "cusolverDnXgesvd": &c.gesvd,
		"cusolverDnXgesvdp_bufferSize": &c.gesvdpSize, "cusolverDnXgesvdp": &c.gesvdp,
		"cusolverDnDgesvdj_bufferSize": &c.gesvdjSize, "cusolverDnDgesvdj": &c.gesvdj,
		"cusolverDnCreateGesvdjInfo": &c.newOptions, "cusolverDnDestroyGesvdjInfo": &c.freeOptions,
		"cusolverDnXgesvdjSetTolerance": &c.setTolerance,
	}); err != nil {
		return err
	}
	var number [3]int32 // major, minor, patch
	for i := range number {
		if err := status("cusolverGetProperty", c.property(int32(i), &number[i])); err != nil {
			return err
		}
	}
	c.version = fmt.Sprintf("%d.%d.%d", number[0], number[1], number[2])
	if err := status("cusolverDnCreate", c.create(&c.handle)); err != nil {
		return err
	}
	return status("cusolverDnCreateParams", c.newParams(&c.params))
}

// String names the library and the GPU.
func (c *CUSOLVER) String() string { return fmt.Sprintf("cuSOLVER %s on %v", c.version, c.device) }

// Close gives the library's resources on the GPU back.
func (c *CUSOLVER) Close() error {
	err := c.device.do(func() error {
		return errors.Join(status("cusolverDnDestroyParams", c.freeParams(c.params)),
			status("cusolverDnDestroy", c.destroy(c.handle)))
	})
	return errors.Join(err, c.device.close())
}

// CUSOLVERDrivers are the names that SVD knows: QR iteration, Jacobi with the library's default tolerance and
// with 1e-14, and the polar decomposition.
func CUSOLVERDrivers() []string { return []string{"gesvd", "gesvdj", "gesvdj-1e-14", "gesvdp"} }

// SVD decomposes the m×n matrix a (column-major, len(a) = m·n, not changed) by one of
// CUSOLVERDrivers. The first call of a driver with a shape runs it once more before, so that what a
// library does at its first use is not timed.
//
// For m < n the drivers get Aᵀ, because gesvd knows tall matrices only. Seconds covers the driver's call by
// events on the GPU, without copies and the allocation of its workspace.
//
// An error means that the shape is wrong or does not fit into the GPU's memory, or that the driver
// did not converge.
func (c *CUSOLVER) SVD(driver string, m, n int, a []float64) (r Result, err error) {
	if m < 0 || n < 0 || len(a) != m*n {
		return Result{}, fmt.Errorf("%s: %d numbers for a %d×%d matrix", driver, len(a), m, n)
	}
	var prepare func(s *deviceSVD) (func() error, error)
	switch driver {
	case "gesvd":
		prepare = c.prepareGesvd
	case "gesvdj", "gesvdj-1e-14":
		prepare = c.prepareGesvdj
	case "gesvdp":
		prepare = c.prepareGesvdp
	default:
		return Result{}, fmt.Errorf("unknown driver %q of cuSOLVER; there are %q", driver, CUSOLVERDrivers())
	}
	if m == 0 || n == 0 {
		return Result{Sigma: []float64{}, U: []float64{}, V: []float64{}}, nil
	}
	if max(m, n) > math.MaxInt32 {
		return Result{}, fmt.Errorf("%s: a %d×%d matrix is too large for 32-bit integers", driver, m, n)
	}
	s := &deviceSVD{driver: driver, m: m, n: n}
	if m < n {
		s.m, s.n, a = n, m, transpose(m, n, a)
	}
	err = c.device.do(func() error {
		key := fmt.Sprintf("%s %d %d", driver, s.m, s.n)
		r, err = c.run(s, a, prepare, !c.warm[key])
		c.warm[key] = err == nil
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("%s of a %d×%d matrix on %v: %w", driver, m, n, c.device, err)
	}
	if m < n {
		r.U, r.V = r.V, r.U
	}
	return r, nil
}

// deviceSVD is one decomposition on the GPU, m ≥ n.
type deviceSVD struct {
	driver           string
	m, n             int
	a, sigma, u, v   uintptr // v: n×n, which gesvd fills with Vᵀ
	info             uintptr
	transposed       bool           // whether v holds Vᵀ
	work             uintptr        // workspace
	bytes, hostBytes uint64         // sizes of the workspaces
	hostWork         unsafe.Pointer // nil if none is wanted
	end              func() error   // of what prepare made; may be nil
}

// run allocates, prepares a driver and calls it, twice if a first call is wanted.
func (c *CUSOLVER) run(s *deviceSVD, a []float64,
	prepare func(*deviceSVD) (func() error, error), first bool) (r Result, err error) {
	for _, x := range []struct {
		address *uintptr
		numbers int
	}{{&s.a, s.m * s.n}, {&s.sigma, s.n}, {&s.u, s.m * s.n}, {&s.v, s.n * s.n}, {&s.info, 1}} {
		if *x.address, err = c.device.numbers(x.numbers); err != nil {
			return r, err
		}
	}
	drive, err := prepare(s)
	if s.end != nil {
		defer func() { err = errors.Join(err, s.end()) }()
	}
	if err != nil {
		return r, err
	}
	for again := true; again; first = false {
		begin := time.Now()
		if err := c.device.put(s.a, a); err != nil {
			return r, err
		}
		r.Upload = time.Since(begin).Seconds()
		if r.Seconds, err = c.device.timed(drive); err != nil {
			return r, err
		}
		again = first
	}
	info, err := c.info(s)
	if err != nil {
		return r, err
	}
	if info != 0 {
		return r, fmt.Errorf("info = %d", info)
	}
	r.Sigma, r.U, r.V = make([]float64, s.n), make([]float64, s.m*s.n), make([]float64, s.n*s.n)
	begin := time.Now()
	if err := errors.Join(c.device.read(r.Sigma, s.sigma), c.device.read(r.U, s.u),
		c.device.read(r.V, s.v)); err != nil {
		return r, err
	}
	r.Download = time.Since(begin).Seconds()
	if s.transposed {
		r.V = transpose(s.n, s.n, r.V)
	}
	return r, nil
}

// info returns the driver's own verdict, 0 if all is well.
func (c *CUSOLVER) info(s *deviceSVD) (info int32, err error) {
	err = status("cuMemcpyDtoH", c.device.fetch(unsafe.Pointer(&info), s.info, 4))
	return info, err
}
