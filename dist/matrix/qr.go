package matrix

import (
	"errors"
	"fmt"
	"math"

	"jmpi/kernels"
)

// Factor computes the QR factorization of a matrix, A = Q·R, by Householder reflectors, and overwrites it by
// R. No number comes to the hosts, so on GPUs panels are queued without waiting. It is collective.
func Factor(s *Matrix) (*Orthogonal, error) {
	q, _, err := factorWhile(s, nil)
	return q, err
}

// FactorIndependent is Factor for columns that may depend on each other. It tells whether they seem to: an
// element on the diagonal of R is at most tol[j]. Then it ends early, and s is undefined. It is collective.
func FactorIndependent(s *Matrix, tol []float64) (q *Orthogonal, independent bool, err error) {
	return factorWhile(s, tol)
}

// checkedPanels is how many panels are factored between two looks at the diagonal of R, for which the host
// waits.
const checkedPanels = 8

// factorWhile factors panels while no element on the diagonal of R is at most tol[j]; nil: all panels.
func factorWhile(s *Matrix, tol []float64) (q *Orthogonal, independent bool, err error) {
	q = &Orthogonal{Devices: s.Devices, M: s.M}
	triangles := make([]buffer, len(s.own))
	defer func() { err = errors.Join(err, s.drop(triangles)) }()
	seen := 0 // columns of which the diagonal was looked at
	for j := 0; j < min(s.M, s.N) && err == nil; {
		_, end := s.span(j / s.tile)
		count := min(kernels.PanelWidth, end-j, s.M-j)
		if err = s.factorPanel(q, j, count, triangles); err != nil {
			break
		}
		j += count
		if tol == nil || len(q.panels)%checkedPanels != 0 && j < min(s.M, s.N) {
			continue
		}
		if independent, err = s.exceed(seen, j, tol); err == nil && !independent {
			return q, false, nil
		}
		seen = j
	}
	if err != nil {
		return q, false, fmt.Errorf("matrix: QR factorization: %w", err)
	}
	return q, true, nil
}

// factorPanel factors `count` columns from column j on, all of one block, from row j on, and applies the
// reflectors to the columns behind them.
func (s *Matrix) factorPanel(q *Orthogonal, j, count int, triangles []buffer) error {
	lead, at := s.home(j)
	r := reflectors{row: j, count: count, owner: lead}
	if dev := s.here(lead); dev != nil {
		i := lead - s.first
		a := s.shares[i].Columns(at, at+count).Rows(j, s.M)
		var err error
		if r.memory, err = q.reserve(dev, a.M, count); err != nil {
			return err
		}
		triangle, err := triangles[i].need(dev, count, count)
		if err != nil {
			return err
		}
		if err := dev.FactorPanel(a, r.of(s.M, r.memory), triangle); err != nil {
			return err
		}
		if err := dev.Zero(a); err != nil {
			return err
		}
		if err := dev.Copy(a.Rows(0, count), triangle); err != nil {
			return err
		}
	}
	q.panels = append(q.panels, r)
	all, err := q.shown(r)
	if err != nil {
		return err
	}
	return s.each(func(i int, dev *device) error { return dev.Reflect(all[i], true, s.behind(i, j+count, j)) })
}

// behind returns the columns from j on of each block of this rank's device i, from a row on.
func (s *Matrix) behind(i, j, row int) (all []kernels.Panel) {
	for b := s.first + i; b < s.blocks(); b += len(s.ranks) {
		if j0, j1 := s.span(b); j < j1 {
			all = append(all, s.block(b).Columns(max(0, j-j0), j1-j0).Rows(row, s.M))
		}
	}
	return all
}

// exceed tells whether the elements on the diagonal exceed tol[j] in size, for the columns j0 ≤ j < j1. It is
// collective.
func (s *Matrix) exceed(j0, j1 int, tol []float64) (bool, error) {
	small := []int64{0}
	err := s.eachDiagonal(j0, j1, func(j int, x float64) {
		if !(math.Abs(x) > tol[j]) {
			small[0] = 1
		}
	})
	if err == nil {
		err = s.Comm.AllreduceMax(small)
	}
	return small[0] == 0, err
}
