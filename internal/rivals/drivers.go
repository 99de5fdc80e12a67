package rivals

import "math"

// gesdd is bidiagonalisation and divide and conquer (Gu, Eisenstat 1995).
func (s *svd) gesdd() error {
	k := min(s.m, s.n)
	m, n, ldvt := int32(s.m), int32(s.n), int32(k)
	s.Sigma, s.U = make([]float64, k), make([]float64, s.m*k)
	vt, iwork := make([]float64, k*s.n), make([]int32, 8*k)
	var info int32
	drive := func(work []float64, lwork int32) error {
		return s.timed(&info, char('S'), num(m), num(n), floats(s.a), num(m), floats(s.Sigma),
			floats(s.U), num(m), floats(vt), num(ldvt), floats(work), num(lwork), ints(iwork), numTo(&info))
	}
	if err := queried(drive); err != nil {
		return err
	}
	s.V = transpose(k, s.n, vt)
	return nil
}

// gesvd is bidiagonalisation and QR iteration.
func (s *svd) gesvd() error {
	k := min(s.m, s.n)
	m, n, ldvt := int32(s.m), int32(s.n), int32(k)
	s.Sigma, s.U = make([]float64, k), make([]float64, s.m*k)
	vt := make([]float64, k*s.n)
	var info int32
	drive := func(work []float64, lwork int32) error {
		return s.timed(&info, char('S'), char('S'), num(m), num(n), floats(s.a), num(m), floats(s.Sigma),
			floats(s.U), num(m), floats(vt), num(ldvt), floats(work), num(lwork), numTo(&info))
	}
	if err := queried(drive); err != nil {
		return err
	}
	s.V = transpose(k, s.n, vt)
	return nil
}

// queried asks a driver for its best workspace and calls it with that.
func queried(drive func(work []float64, lwork int32) error) error {
	size := []float64{0}
	if err := drive(size, -1); err != nil {
		return err
	}
	work, lwork, err := workspace(int(math.Max(size[0], 1)))
	if err != nil {
		return err
	}
	return drive(work, lwork)
}

// gejsv is one-sided Jacobi on a preconditioned triangular factor (Drmač, Veselić 2008); m ≥ n.
func (s *svd) gejsv() error {
	m, n := int32(s.m), int32(s.n)
	// The routine has no workspace query. The bound for JOBU = 'U', JOBV = 'V' in its documentation,
	// and room for blocks of 64 columns in its QR factorisations.
	work, lwork, err := workspace(max(2*s.m+s.n, 6*s.n+2*s.n*s.n, 7) + 64*(s.n+1))
	if err != nil {
		return err
	}
	iwork := make([]int32, s.m+3*s.n+3)
	s.Sigma, s.U, s.V = make([]float64, s.n), make([]float64, s.m*s.n), make([]float64, s.n*s.n)
	var info int32
	err = s.timed(&info, char('C'), char('U'), char('V'), char('R'), char('N'), char('N'),
		num(m), num(n), floats(s.a), num(m), floats(s.Sigma), floats(s.U), num(m), floats(s.V), num(n),
		floats(work), num(lwork), ints(iwork), numTo(&info))
	s.scale(work[1] / work[0])
	return err
}

// gesvj is one-sided Jacobi on the matrix itself; m ≥ n.
func (s *svd) gesvj() error {
	m, n := int32(s.m), int32(s.n)
	work, lwork, err := workspace(max(6, s.m+s.n))
	if err != nil {
		return err
	}
	s.Sigma, s.V = make([]float64, s.n), make([]float64, s.n*s.n)
	var info int32
	err = s.timed(&info, char('G'), char('U'), char('V'), num(m), num(n), floats(s.a), num(m), floats(s.Sigma),
		num(0), floats(s.V), num(n), floats(work), num(lwork), numTo(&info))
	s.U = s.a
	s.scale(work[0])
	return err
}

// scale multiplies the singular values by the factor that a Jacobi driver took out.
func (s *svd) scale(factor float64) {
	if factor == 1 {
		return
	}
	for i := range s.Sigma {
		s.Sigma[i] *= factor
	}
}
