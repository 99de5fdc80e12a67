package rivals

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"jmpi/internal/nvidia"
)

// CUSOLVERMP is NVIDIA's cuSOLVERMp on one GPU of each process. It is bound by its documentation (version
// 0.9); see docs/decisions/040-model-of-time.md.
type CUSOLVERMP struct {
	Ranks
	device *device
	mp     mpRoutines
	nccl   ncclRoutines
	comm   uintptr // NCCL's
	handle uintptr
	grid   uintptr
	shape  [2]int32 // of the grid: rows, columns
}

// Ranks says which process this is, and how bytes come from process 0 to all, and that all have come so far.
type Ranks struct {
	Rank, Size int
	FromFirst  func(bytes []byte) ([]byte, error)
	Barrier    func() error
}

// uniqueID is NCCL's, passed by value.
type uniqueID struct{ Bytes [128]byte }

type ncclRoutines struct {
	newID   func(id *uniqueID) int32
	start   func(comm *uintptr, size int32, id uniqueID, rank int32) int32
	destroy func(comm uintptr) int32
}

// mover copies a matrix, or a part of it, from or to the memory of one process.
type mover func(handle uintptr, m, n int64, a uintptr, i, j int64, description uintptr, root int32,
	host unsafe.Pointer, ld int64) int32

type mpRoutines struct {
	create    func(handle *uintptr, device int32, stream uintptr) int32
	destroy   func(handle uintptr) int32
	newGrid   func(handle uintptr, grid *uintptr, comm uintptr, rows, columns, mapping int32) int32
	freeGrid  func(grid uintptr) int32
	newMatrix func(m *uintptr, grid uintptr, kind int32, rows, columns, mb, nb int64, r, c uint32,
		ld int64) int32
	freeMatrix func(m uintptr) int32
	count      func(n, block int64, at, first, of int32) int64
	scatter    mover
	gather     mover
	gesvdSize  uintptr
	gesvd      uintptr
}

// mpBlock is the order of the blocks of the distribution.
const mpBlock = 256

// OpenCUSOLVERMP opens cuSOLVERMp, on all processes, for one GPU of each. It is collective from the moment
// when the libraries are there: agree tells whether they are on all. The error wraps ErrMissing where they
// are not.
func OpenCUSOLVERMP(ordinal int, ranks Ranks, agree func(error) error) (*CUSOLVERMP, error) {
	c := &CUSOLVERMP{Ranks: ranks}
	if err := agree(c.find(ordinal)); err != nil {
		return nil, errors.Join(fmt.Errorf("cuSOLVERMp: %w", err), c.Close())
	}
	if err := agree(c.device.do(func() error { return c.start(ordinal) })); err != nil {
		return nil, errors.Join(fmt.Errorf("cuSOLVERMp: %w", err), c.Close())
	}
	return c, nil
}

// find opens the libraries and the GPU.
func (c *CUSOLVERMP) find(ordinal int) error {
	nccl, err := nvidia.NCCL()
	if err != nil {
		return err
	}
	mp, err := nvidia.CUSOLVERMP()
	if err != nil {
		return err
	}
	var size, drive uintptr
	if err := errors.Join(nccl.Register(map[string]any{"ncclGetUniqueId": &c.nccl.newID,
		"ncclCommInitRank": &c.nccl.start, "ncclCommDestroy": &c.nccl.destroy}),
		mp.Bind(nvidia.Routines{"cusolverMpGesvd_bufferSize": &size, "cusolverMpGesvd": &drive}),
		mp.Register(map[string]any{
			"cusolverMpCreate": &c.mp.create, "cusolverMpDestroy": &c.mp.destroy,
			"cusolverMpCreateDeviceGrid": &c.mp.newGrid, "cusolverMpDestroyGrid": &c.mp.freeGrid,
			"cusolverMpCreateMatrixDesc": &c.mp.newMatrix, "cusolverMpDestroyMatrixDesc": &c.mp.freeMatrix,
			"cusolverMpNUMROC": &c.mp.count, "cusolverMpMatrixScatterH2D": &c.mp.scatter,
			"cusolverMpMatrixGatherD2H": &c.mp.gather,
		})); err != nil {
		return err
	}
	c.mp.gesvdSize, c.mp.gesvd = size, drive
	c.device, err = openDevice(ordinal)
	return err
}

// start connects the processes, on a grid that is as square as their number allows.
func (c *CUSOLVERMP) start(ordinal int) error {
	var id uniqueID
	if c.Rank == 0 {
		if err := status("ncclGetUniqueId", c.nccl.newID(&id)); err != nil {
			return err
		}
	}
	bytes, err := c.FromFirst(id.Bytes[:])
	if err != nil {
		return err
	}
	copy(id.Bytes[:], bytes)
	if err := status("ncclCommInitRank", c.nccl.start(&c.comm, int32(c.Size), id, int32(c.Rank))); err != nil {
		return err
	}
	for rows := 1; rows*rows <= c.Size; rows++ {
		if c.Size%rows == 0 {
			c.shape = [2]int32{int32(rows), int32(c.Size / rows)}
		}
	}
	const byColumns = 0 // CUSOLVERMP_GRID_MAPPING_COL_MAJOR
	if err := status("cusolverMpCreate", c.mp.create(&c.handle, int32(ordinal), 0)); err != nil {
		return err
	}
	return status("cusolverMpCreateDeviceGrid",
		c.mp.newGrid(c.handle, &c.grid, c.comm, c.shape[0], c.shape[1], byColumns))
}

// Close gives everything back.
func (c *CUSOLVERMP) Close() error {
	if c.device == nil {
		return nil
	}
	err := c.device.do(func() (err error) {
		if c.grid != 0 {
			err = errors.Join(err, status("cusolverMpDestroyGrid", c.mp.freeGrid(c.grid)))
		}
		if c.handle != 0 {
			err = errors.Join(err, status("cusolverMpDestroy", c.mp.destroy(c.handle)))
		}
		if c.comm != 0 {
			err = errors.Join(err, status("ncclCommDestroy", c.nccl.destroy(c.comm)))
		}
		return err
	})
	return errors.Join(err, c.device.close())
}

// mpMatrix is a matrix in blocks on the GPUs of all processes.
type mpMatrix struct {
	rows, columns int
	at            uintptr // this process's part
	description   uintptr
}

// matrix allocates a matrix.
func (c *CUSOLVERMP) matrix(rows, columns int) (m mpMatrix, err error) {
	m.rows, m.columns = rows, columns
	row, column := int32(c.Rank)%c.shape[0], int32(c.Rank)/c.shape[0]
	ld := max(1, c.mp.count(int64(rows), mpBlock, row, 0, c.shape[0]))
	own := max(1, c.mp.count(int64(columns), mpBlock, column, 0, c.shape[1]))
	if m.at, err = c.device.numbers(int(ld * own)); err != nil {
		return m, err
	}
	return m, status("cusolverMpCreateMatrixDesc", c.mp.newMatrix(&m.description, c.grid, float64Type,
		int64(rows),
		int64(columns), mpBlock, mpBlock, 0, 0, ld))
}

// SVD decomposes an m×n matrix, m ≥ n, which process 0 has (column-major), by cusolverMpGesvd. U and V come
// to process 0. Seconds is that of the slowest part of the driver: from a barrier to the end on this process.
// It is collective.
func (c *CUSOLVERMP) SVD(m, n int, a []float64) (r Result, err error) {
	err = c.device.do(func() (err error) {
		r, err = c.decompose(m, n, a)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("cusolverMpGesvd of a %d×%d matrix on %d GPUs: %w", m, n, c.Size, err)
	}
	return r, nil
}

func (c *CUSOLVERMP) decompose(m, n int, a []float64) (r Result, err error) {
	var x [3]mpMatrix // A, U, Vᵀ
	for i, shape := range [3][2]int{{m, n}, {m, n}, {n, n}} {
		x[i], err = c.matrix(shape[0], shape[1])
		if description := x[i].description; description != 0 {
			defer func() {
				err = errors.Join(err, status("cusolverMpDestroyMatrixDesc", c.mp.freeMatrix(description)))
			}()
		}
		if err != nil {
			return r, err
		}
	}
	sigma, err := c.device.numbers(n)
	if err != nil {
		return r, err
	}
	info, err := c.device.numbers(1)
	if err != nil {
		return r, err
	}
	begin := time.Now()
	if err := c.move("cusolverMpMatrixScatterH2D", c.mp.scatter, x[0], a); err != nil {
		return r, err
	}
	r.Upload = time.Since(begin).Seconds()
	if r.Seconds, err = c.drive(x, sigma, info); err != nil {
		return r, err
	}
	r.Sigma = make([]float64, n)
	if c.Rank == 0 {
		r.U, r.V = make([]float64, m*n), make([]float64, n*n)
	}
	begin = time.Now()
	if err := errors.Join(c.device.read(r.Sigma, sigma), c.move("cusolverMpMatrixGatherD2H", c.mp.gather, x[1],
		r.U),
		c.move("cusolverMpMatrixGatherD2H", c.mp.gather, x[2], r.V)); err != nil {
		return r, err
	}
	r.Download = time.Since(begin).Seconds()
	if c.Rank == 0 {
		r.V = transpose(n, n, r.V)
	}
	return r, nil
}

// move copies a matrix from or to the memory of process 0.
func (c *CUSOLVERMP) move(name string, routine mover, x mpMatrix, host []float64) error {
	m := int64(x.rows)
	err := status(name, routine(c.handle, m, int64(x.columns), x.at, 1, 1, x.description, 0,
		unsafe.Pointer(unsafe.SliceData(host)), m))
	return errors.Join(err, status("cuCtxSynchronize", c.device.wait()))
}

// drive calls the driver, and times it.
func (c *CUSOLVERMP) drive(x [3]mpMatrix, sigma, info uintptr) (seconds float64, err error) {
	m, n := uintptr(x[0].rows), uintptr(x[0].columns)
	// No descriptor of options: all defaults. Vectors of both sides, matrices from their first element on.
	common := []uintptr{c.handle, 0, vectors, vectors, m, n, x[0].at, 1, 1, x[0].description, sigma,
		x[1].at, 1, 1, x[1].description, x[2].at, 1, 1, x[2].description, float64Type}
	var pin runtime.Pinner
	defer pin.Unpin()
	sizes := new([2]uint64) // of the workspaces on the GPU and on the host
	pin.Pin(sizes)
	if err := status("cusolverMpGesvd_bufferSize", nvidia.Invoke(c.mp.gesvdSize, append(common,
		uintptr(unsafe.Pointer(&sizes[0])), uintptr(unsafe.Pointer(&sizes[1])))...)); err != nil {
		return 0, err
	}
	work, err := c.device.memory(sizes[0])
	if err != nil {
		return 0, err
	}
	host := make([]byte, max(1, sizes[1]))
	pin.Pin(&host[0])
	if err := errors.Join(status("cuCtxSynchronize", c.device.wait()), c.Barrier()); err != nil {
		return 0, err
	}
	begin := time.Now()
	err = status("cusolverMpGesvd", nvidia.Invoke(c.mp.gesvd, append(common, work, uintptr(sizes[0]),
		uintptr(unsafe.Pointer(&host[0])), uintptr(sizes[1]), info)...))
	err = errors.Join(err, status("cuCtxSynchronize", c.device.wait()))
	seconds = time.Since(begin).Seconds()
	var verdict int32
	err = errors.Join(err, status("cuMemcpyDtoH", c.device.fetch(unsafe.Pointer(&verdict), info, 4)))
	if err == nil && verdict != 0 {
		err = fmt.Errorf("info = %d", verdict)
	}
	return seconds, err
}
