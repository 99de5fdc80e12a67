package rivals

import (
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ScaLAPACK is an opened ScaLAPACK library, for the MPI library that is in the process.
type ScaLAPACK struct {
	// Threads is the number of BLAS threads of each rank while the driver runs; 0 leaves it as it is in the
	// process. It acts on OpenBLAS only.
	Threads int
	// Block is the order of the blocks of the distribution; 64 after opening. At n = 512 on two ranks, orders
	// from 16 to 128 took the same time.
	Block int

	library library
	blas    openBLAS

	pinfo, get, gridInit, gridInfo, gridExit, barrier uintptr // BLACS, in C
	descInit, numroc, gesvd, redistribute             uintptr // in Fortran
}

// OpenScaLAPACK opens ScaLAPACK. MPI must be linked or loaded with global symbols; of Debian's two variants
// the one is taken that was built for it. OpenBLAS is opened before, so that ScaLAPACK uses it, whatever the
// system's default BLAS is. The error wraps ErrMissing.
func OpenScaLAPACK() (*ScaLAPACK, error) {
	if _, err := purego.Dlsym(purego.RTLD_DEFAULT, "MPI_Initialized"); err != nil {
		return nil, fmt.Errorf("ScaLAPACK: MPI %w in this process", ErrMissing)
	}
	names := []string{"libscalapack-mpich.so.2.2", "libscalapack-mpich.so"}
	if _, err := purego.Dlsym(purego.RTLD_DEFAULT, "ompi_mpi_comm_world"); err == nil {
		names = []string{"libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so"}
	}
	s := &ScaLAPACK{Block: 64}
	if blas, err := open("libopenblas.so.0", "libopenblas.so"); err == nil {
		s.blas = controls(blas)
	}
	var err error
	if s.library, err = open(append(names, "libscalapack.so.2.2", "libscalapack.so")...); err != nil {
		return nil, fmt.Errorf("ScaLAPACK: %w", err)
	}
	for _, r := range []struct {
		name    string
		address *uintptr
	}{
		{"Cblacs_pinfo", &s.pinfo}, {"Cblacs_get", &s.get}, {"Cblacs_gridinit", &s.gridInit},
		{"Cblacs_gridinfo", &s.gridInfo},
		{"Cblacs_gridexit", &s.gridExit}, {"Cblacs_barrier", &s.barrier}, {"descinit_", &s.descInit},
		{"numroc_", &s.numroc},
		{"pdgesvd_", &s.gesvd}, {"pdgemr2d_", &s.redistribute},
	} {
		if *r.address, err = s.library.symbol(r.name); err != nil {
			return nil, fmt.Errorf("ScaLAPACK: %w", err)
		}
	}
	return s, nil
}

// String names the library and the BLAS that it uses.
func (s *ScaLAPACK) String() string {
	blas := s.blas.String()
	if dgemm, err := purego.Dlsym(purego.RTLD_DEFAULT, "dgemm_"); err == nil {
		blas += " in " + fileOf(dgemm)
	}
	return fmt.Sprintf("ScaLAPACK of %s, %s", s.library.name, blas)
}

// SVD decomposes an m×n matrix by pdgesvd on all ranks of MPI_COMM_WORLD, of which this is rank of size.
// It is collective. MPI must be running; this process must make no other MPI call meanwhile, so an existing
// dist.Comm must be idle.
//
// The matrix comes from columns, which writes the columns j0 ≤ j < j1 to dst, column j at
// dst[(j−j0)·ld:][:m]; it is called for blocks of columns, in ascending order, and each rank asks only for
// those of which it holds a part.
//
// Sigma and Seconds are returned on every rank, U and V on rank 0 only (nil elsewhere), which holds
// them whole: this is for matrices of which three fit into the memory of one node.
func (s *ScaLAPACK) SVD(rank, size, m, n int,
	columns func(j0, j1 int, dst []float64, ld int)) (Result, error) {
	if m < 1 || n < 1 || max(m, n) > math.MaxInt32 || s.Block < 1 {
		return Result{}, fmt.Errorf("pdgesvd: a %d×%d matrix in blocks of order %d is not possible", m, n, s.Block)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g, err := s.newGrid(rank, size)
	if err != nil {
		return Result{}, err
	}
	defer purego.SyscallN(s.gridExit, uintptr(g.context))

	k := min(m, n)
	a, err := g.matrix(m, n, s.Block)
	if err != nil {
		return Result{}, err
	}
	u, err := g.matrix(m, k, s.Block)
	if err != nil {
		return Result{}, err
	}
	vt, err := g.matrix(k, n, s.Block)
	if err != nil {
		return Result{}, err
	}
	a.fill(columns)

	r := Result{Sigma: make([]float64, k)}
	var info int32
	drive := func(work []float64, lwork int32) error {
		start := time.Now()
		call(s.gesvd, char('V'), char('V'), num(int32(m)), num(int32(n)),
			floats(a.local), num(1), num(1), ints(a.desc), floats(r.Sigma),
			floats(u.local), num(1), num(1), ints(u.desc), floats(vt.local), num(1), num(1), ints(vt.desc),
			floats(work), num(lwork), numTo(&info))
		if info != 0 {
			return fmt.Errorf("pdgesvd of a %d×%d matrix on %d ranks: INFO = %d", m, n, size, info)
		}
		g.barrier()
		r.Seconds = time.Since(start).Seconds()
		return nil
	}
	s.blas.with(s.Threads, func() {
		g.barrier()
		err = queried(drive)
	})
	if err != nil {
		return Result{}, err
	}
	if r.U, err = u.gather(); err != nil {
		return Result{}, err
	}
	wholeVT, err := vt.gather()
	if err != nil {
		return Result{}, err
	}
	if rank == 0 {
		r.V = transpose(k, n, wholeVT)
	}
	return r, nil
}

// grid is a rows×cols arrangement of the ranks, numbered row by row, and the place of this rank in it.
type grid struct {
	s                    *ScaLAPACK
	context              int32
	rows, cols, row, col int32
}

// newGrid arranges the ranks as squarely as their number allows, with no more rows than columns.
func (s *ScaLAPACK) newGrid(rank, size int) (*grid, error) {
	initialized, err := purego.Dlsym(purego.RTLD_DEFAULT, "MPI_Initialized")
	if err != nil {
		return nil, fmt.Errorf("ScaLAPACK: MPI %w in this process", ErrMissing)
	}
	var running, me, all int32
	call(initialized, numTo(&running))
	if running == 0 {
		return nil, fmt.Errorf("ScaLAPACK: MPI is not running; start it first")
	}
	call(s.pinfo, numTo(&me), numTo(&all))
	if int(me) != rank || int(all) != size {
		return nil, fmt.Errorf("ScaLAPACK: it is rank %d of %d by its own count, expected rank %d of %d; it was "+
			"built for another MPI library", me, all, rank, size)
	}
	g := &grid{s: s, rows: 1}
	for d := int32(1); d*d <= all; d++ {
		if all%d == 0 {
			g.rows = d
		}
	}
	g.cols = all / g.rows
	order := append([]byte("Row"), 0)
	purego.SyscallN(s.get, 0, 0, uintptr(unsafe.Pointer(&g.context)))
	purego.SyscallN(s.gridInit, uintptr(unsafe.Pointer(&g.context)), uintptr(unsafe.Pointer(&order[0])),
		uintptr(g.rows), uintptr(g.cols))
	purego.SyscallN(s.gridInfo, uintptr(g.context), uintptr(unsafe.Pointer(&g.rows)),
		uintptr(unsafe.Pointer(&g.cols)), uintptr(unsafe.Pointer(&g.row)), uintptr(unsafe.Pointer(&g.col)))
	runtime.KeepAlive(g)
	return g, nil
}

// barrier waits for all ranks.
func (g *grid) barrier() {
	scope := []byte("All\x00")
	purego.SyscallN(g.s.barrier, uintptr(g.context), uintptr(unsafe.Pointer(&scope[0])))
}
