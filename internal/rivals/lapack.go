package rivals

import (
	"fmt"
	"math"
	"time"
)

// LAPACK is an opened LAPACK library.
type LAPACK struct {
	// Threads is the number of BLAS threads while a driver runs; 0 leaves it as it is in the process.
	// It acts on OpenBLAS only.
	Threads int

	library library
	blas    openBLAS
}

// OpenLAPACK opens OpenBLAS, which has LAPACK inside, or else the system's LAPACK.
// The error wraps ErrMissing.
func OpenLAPACK() (*LAPACK, error) {
	l, err := open("libopenblas.so.0", "libopenblas.so", "liblapack.so.3", "liblapack.so")
	if err != nil {
		return nil, fmt.Errorf("LAPACK: %w", err)
	}
	return &LAPACK{library: l, blas: controls(l)}, nil
}

// String names the library.
func (l *LAPACK) String() string { return fmt.Sprintf("LAPACK of %s, %v", l.library.name, l.blas) }

// Drivers are the names that SVD knows.
func (l *LAPACK) Drivers() []string { return []string{"dgesdd", "dgejsv", "dgesvj", "dgesvd"} }

// SVD decomposes the m×n matrix a (column-major, len(a) = m·n, not changed) by one of the Drivers.
//
// The Jacobi drivers know tall matrices only: for m < n they get Aᵀ. dgejsv runs with JOBA = 'C' (high
// relative accuracy for A = C·D with D diagonal and C well conditioned), JOBR = 'R', no transposition and no
// perturbation; dgesvj with a general A.
//
// An error means that the routine is missing (ErrMissing), that the shape is wrong or too large for 32-bit
// integers, or that the driver did not converge.
func (l *LAPACK) SVD(driver string, m, n int, a []float64) (Result, error) {
	if m < 0 || n < 0 || len(a) != m*n {
		return Result{}, fmt.Errorf("%s: %d numbers for a %d×%d matrix", driver, len(a), m, n)
	}
	var run func(s *svd) error
	switch driver {
	case "dgesdd":
		run = (*svd).gesdd
	case "dgesvd":
		run = (*svd).gesvd
	case "dgejsv":
		run = (*svd).gejsv
	case "dgesvj":
		run = (*svd).gesvj
	default:
		return Result{}, fmt.Errorf("unknown driver %q of LAPACK; there are %q", driver, l.Drivers())
	}
	routine, err := l.library.symbol(driver + "_")
	if err != nil {
		return Result{}, err
	}
	if m == 0 || n == 0 {
		return Result{Sigma: []float64{}, U: []float64{}, V: []float64{}}, nil
	}
	if max(m, n) > math.MaxInt32 {
		return Result{}, fmt.Errorf("%s: a %d×%d matrix is too large for 32-bit integers", driver, m, n)
	}

	jacobi := driver == "dgejsv" || driver == "dgesvj"
	s := svd{routine: routine, m: m, n: n, a: append([]float64(nil), a...)}
	if jacobi && m < n {
		s.m, s.n, s.a = n, m, transpose(m, n, a)
	}
	l.blas.with(l.Threads, func() { err = run(&s) })
	if err != nil {
		return Result{}, fmt.Errorf("%s of a %d×%d matrix: %w", driver, m, n, err)
	}
	if jacobi && m < n {
		s.U, s.V = s.V, s.U
	}
	return s.Result, nil
}

// svd is one decomposition under way.
type svd struct {
	routine uintptr
	m, n    int
	a       []float64 // m×n, overwritten
	Result
}

// timed calls the driver, measures it and interprets its INFO.
func (s *svd) timed(info *int32, args ...argument) error {
	start := time.Now()
	call(s.routine, args...)
	s.Seconds = time.Since(start).Seconds()
	if *info != 0 {
		return fmt.Errorf("INFO = %d", *info)
	}
	return nil
}

// workspace returns n numbers, or an error if 32-bit integers cannot count them.
func workspace(n int) ([]float64, int32, error) {
	if n > math.MaxInt32 {
		return nil, 0, fmt.Errorf("a workspace of %d numbers is too large for 32-bit integers", n)
	}
	return make([]float64, n), int32(n), nil
}

// transpose returns the n×m transpose of the m×n matrix a, both column-major.
func transpose(m, n int, a []float64) []float64 {
	t := make([]float64, m*n)
	const block = 32 // keeps both sides in the first-level cache
	for j0 := 0; j0 < n; j0 += block {
		for i0 := 0; i0 < m; i0 += block {
			for j := j0; j < min(j0+block, n); j++ {
				for i := i0; i < min(i0+block, m); i++ {
					t[j+i*n] = a[i+j*m]
				}
			}
		}
	}
	return t
}
