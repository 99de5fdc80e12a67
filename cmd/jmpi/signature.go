package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"jmpi/dist"
	"jmpi/internal/matio"
	"jmpi/internal/report"
)

// readSignature returns the signs of the columns that --signature asks for, nil for the SVD. It is collective.
func (s *session) readSignature(file *matio.File, f svdFlags) ([]float64, error) {
	if f.signature == "" {
		return nil, nil
	}
	signs, kind, err := signature(f.signature, file)
	if err == nil && mixed(signs) && (f.precondition == "qrcp" || f.precondition == "qrcp-lq" || f.v == "solve") {
		kind, err = dist.BadUse, errors.New("--signature: the hyperbolic SVD is preconditioned by none or qr, and its V is accumulated")
	}
	if err := s.agree(kind, err); err != nil {
		return nil, err
	}
	text := fmt.Sprint(signs)
	return signs, s.same(dist.BadInput, "the signature is", text, "the path must lead to the same file on every node")
}

// signature reads P, or the file of that name.
func signature(text string, file *matio.File) (signs []float64, kind dist.Kind, err error) {
	n := file.Cols
	if file.Rows < n {
		return nil, dist.BadInput, fmt.Errorf("a %d×%d matrix has no hyperbolic SVD: it needs at least as many rows as columns", file.Rows, n)
	}
	if positive, err := strconv.ParseInt(text, 10, 64); err == nil {
		if positive < 0 || positive > n {
			return nil, dist.BadUse, fmt.Errorf("--signature %d: the number of columns with sign +1 lies between 0 and %d", positive, n)
		}
		for j := range n {
			sign := 1.0
			if j >= positive {
				sign = -1
			}
			signs = append(signs, sign)
		}
		return signs, dist.Fine, nil
	}
	if signs, err = matio.ReadVector(text); err != nil {
		return nil, dist.BadInput, fmt.Errorf("--signature: %w", err)
	}
	if int64(len(signs)) != n {
		return nil, dist.BadInput, fmt.Errorf("--signature %s: it has %d entries, the matrix %d columns", text, len(signs), n)
	}
	if _, err := report.NewSignature(signs); err != nil {
		return nil, dist.BadInput, fmt.Errorf("--signature %s: %w", text, err)
	}
	return signs, dist.Fine, nil
}

// mixed tells whether there are both signs.
func mixed(signs []float64) bool { return slices.Contains(signs, 1) && slices.Contains(signs, -1) }
