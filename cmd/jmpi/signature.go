package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/internal/matio"
	"jmpi/internal/report"
)

// readSignature returns the signs of the columns that --signature asks for, nil for the SVD. It is
// collective.
func (s *session) readSignature(file *matio.File, f svdFlags) ([]float64, error) {
	if f.signature == "" {
		return nil, nil
	}
	m, n := file.Rows, file.Cols
	if m < n {
		err := fmt.Errorf("the hyperbolic SVD needs at least as many rows as columns, and the matrix is %d×%d; "+
			"leave --signature out for the SVD", m, n)
		return nil, s.verdict(exitInput, err)
	}
	var signs []float64
	kind := comm.Fine
	positive, err := strconv.ParseInt(f.signature, 10, 64)
	if err == nil {
		signs, kind, err = leadingSigns(positive, n)
	} else if signs, err = s.signsFrom(f.signature, n); err != nil {
		return nil, err
	}
	return signs, s.suited(signs, kind, err, f.methodFlags)
}

// suited ends the choice of signs, which may have failed: the ranks agree on it, and that the method has what
// the flags ask for. It is collective.
func (s *session) suited(signs []float64, kind comm.Kind, err error, f methodFlags) error {
	not := []dist.Preconditioner{dist.QRCP, dist.QRCPLQ, dist.QRLQ}
	if err == nil && dist.Mixed(signs) && (slices.Contains(not, f.precondition) || f.v == dist.FromLeft) {
		kind, err = comm.BadUse, errors.New("--signature: leave out --precondition qrcp, qrcp-lq and qr-lq, "+
			"and --v solve, which the hyperbolic SVD has not")
	}
	return s.agree(kind, err)
}

// leadingSigns returns n signs, the first of them +1 and the others −1.
func leadingSigns(positive, n int64) ([]float64, comm.Kind, error) {
	if positive < 0 || positive > n {
		err := fmt.Errorf("--signature %d: the number of columns with sign +1 lies between 0 and %d", positive, n)
		return nil, comm.BadUse, err
	}
	signs := slices.Repeat([]float64{1}, int(n))
	for j := positive; j < n; j++ {
		signs[j] = -1
	}
	return signs, comm.Fine, nil
}

// signsFrom reads n signs from a file, which must be the same on all ranks in every byte. It is collective.
func (s *session) signsFrom(path string, n int64) ([]float64, error) {
	file, err := matio.OpenVector(path)
	if err != nil {
		err = fmt.Errorf("--signature: %w", err)
	}
	if err := s.agree(comm.BadInput, err); err != nil {
		return nil, err
	}
	defer file.Close()
	if err := s.sameFile(file, path, true); err != nil {
		return nil, err
	}
	signs, err := signsIn(file, path, n)
	return signs, s.agree(comm.BadInput, err)
}

// signsIn reads n signs from an open file.
func signsIn(file *matio.File, path string, n int64) ([]float64, error) {
	signs, err := file.Vector()
	switch {
	case err != nil:
		err = fmt.Errorf("--signature: %w", err)
	case int64(len(signs)) != n:
		const text = "--signature %s: it has %d entries, the matrix %d columns; give each column a sign"
		err = fmt.Errorf(text, path, len(signs), n)
	default:
		if _, err = report.NewSignature(signs); err != nil {
			err = fmt.Errorf("--signature %s: %w", path, err)
		}
	}
	return signs, err
}
