package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Signature is the diagonal of J, n numbers ±1 in the order of A's columns, of a hyperbolic SVD of the m×n
// matrix A: P times +1 and n−P times −1. It is stored as P where all +1 come first, J = diag(I_P, −I), and
// else with one character a column:
//
//	"signature": {"positive": 3}
//	"signature": {"positive": 3, "signs": "+--++"}
//
// Whatever the order, the columns of U and V and the entries of S are arranged as P and then n−P: with the
// diagonal in D, Vᵀ·D·V = diag(I_P, −I), and the eigenvalues of A·D·Aᵀ are S²·diag(I_P, −I). A nil *Signature
// is that of the SVD, all +1.
type Signature struct {
	Positive int64  `json:"positive"`
	Signs    string `json:"signs,omitempty"`
}

// NewSignature returns the signature with the diagonal signs; an error names the first entry that
// is not ±1, 1-based.
func NewSignature(signs []float64) (*Signature, error) {
	s := &Signature{}
	text := make([]byte, len(signs))
	partitioned := true
	for i, x := range signs {
		switch x {
		case 1:
			text[i] = '+'
			partitioned = partitioned && s.Positive == int64(i)
			s.Positive++
		case -1:
			text[i] = '-'
		default:
			return nil, fmt.Errorf("entry %d of the signature is %v; give +1 or -1", i+1, x)
		}
	}
	if !partitioned {
		s.Signs = string(text)
	}
	return s, nil
}

// Diagonal returns the n signs, all +1 for nil; an error tells why s is no signature of n columns.
func (s *Signature) Diagonal(n int) ([]float64, error) {
	signs := make([]float64, n)
	text := strings.Repeat("+", n)
	if s != nil {
		if s.Positive < 0 || s.Positive > int64(n) {
			return nil, fmt.Errorf("a signature with %d times +1 does not fit %d columns", s.Positive, n)
		}
		text = text[:s.Positive] + strings.Repeat("-", n-int(s.Positive))
		if s.Signs != "" {
			text = s.Signs
		}
		if len(text) != n || int64(strings.Count(text, "+")) != s.Positive ||
			strings.Count(text, "-") != n-int(s.Positive) {
			return nil, fmt.Errorf("the %d signs of the signature are not %d '+' and %d '-'", len(text), s.Positive,
				n-int(s.Positive))
		}
	}
	for i := range signs {
		if signs[i] = 1; text[i] == '-' {
			signs[i] = -1
		}
	}
	return signs, nil
}

// Told is what info.json tells of a decomposition to those who judge it.
type Told struct {
	Signature *Signature `json:"signature"` // nil: that of the SVD
	VNorm     float64    `json:"v_norm"`    // ‖V‖_F; 0: it is not told
	Cut       *Cut       `json:"cut"`       // nil: nothing was cut
}

// Read reads what info.json tells. There is nothing if the file is not there.
func Read(path string) (told Told, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Told{}, nil
	} else if err != nil {
		return Told{}, err
	}
	if err := json.Unmarshal(b, &told); err != nil {
		return Told{}, fmt.Errorf("%s is damaged: %w; without it the folder is checked as an SVD", path, err)
	}
	return told, nil
}
