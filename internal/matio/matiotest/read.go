package matiotest

import (
	"math/big"
	"path/filepath"
	"strings"
)

// Matrix is what a file holds, column-major.
type Matrix struct {
	Rows, Cols int64
	X          []float64 // nil if there are more than Most numbers
}

// Most is how many numbers Read forms: the zeros of a coordinate file have no bytes in it.
const Most = 1 << 16

// Read reads the file of that name and these bytes. It tells whether it is one that can be read. NaN and
// infinity count as numbers in binary files.
func Read(name string, image []byte) (Matrix, bool) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".npy":
		return readNpy(image)
	case ".mtx":
		return readMarket(image)
	case ".f64":
		return readRaw(name, image)
	}
	return Matrix{}, false
}

// Finite tells whether all numbers are.
func (m Matrix) Finite() bool {
	for _, x := range m.X {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// known tells whether a matrix of this shape has few enough numbers to be formed, and whether its bytes can
// be counted at all.
func known(rows, cols int64) (few, countable bool) {
	size := new(big.Int).Mul(big.NewInt(rows), big.NewInt(cols))
	limit := new(big.Int).Div(new(big.Int).Lsh(big.NewInt(1), 63), big.NewInt(8))
	return size.Cmp(big.NewInt(Most)) <= 0, size.Cmp(limit) < 0
}
