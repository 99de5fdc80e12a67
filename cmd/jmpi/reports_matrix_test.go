package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"jmpi/internal/gen"
	"jmpi/internal/matio"
)

// matrix is an m×n matrix, column-major.
type matrix struct {
	m, n int
	x    []float64
}

// build returns the m×n matrix with the entries f(i,j), 0-based.
func build(m, n int, f func(i, j int) float64) matrix {
	a := matrix{m, n, make([]float64, m*n)}
	for j := range n {
		for i := range m {
			a.x[i+j*m] = f(i, j)
		}
	}
	return a
}

// byRows returns the matrix with n columns and these entries, row by row.
func byRows(n int, x ...float64) matrix {
	return build(len(x)/n, n, func(i, j int) float64 { return x[i*n+j] })
}

func (a matrix) at(i, j int) float64 { return a.x[i+j*a.m] }

// scaled returns 2^e times the matrix.
func (a matrix) scaled(e int) matrix {
	return build(a.m, a.n, func(i, j int) float64 { return math.Ldexp(a.at(i, j), e) })
}

func (a matrix) write(t *testing.T, path string) {
	t.Helper()
	w, err := matio.CreateNpy(path, int64(a.m), int64(a.n))
	if err == nil {
		err = errors.Join(w.WriteColumns(0, a.x, max(1, a.m), a.n), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readMatrix returns a matrix of 0 columns if there is no such file.
func readMatrix(t *testing.T, path string) matrix {
	t.Helper()
	file, err := matio.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return matrix{}
	} else if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a := matrix{int(file.Rows), int(file.Cols), make([]float64, file.Rows*file.Cols)}
	if err := file.ReadColumns(0, file.Cols, a.x, max(1, a.m)); err != nil {
		t.Fatal(err)
	}
	return a
}

// npyFile returns a .npy file of m×n with the encoded entries data.
func npyFile(descr string, fortran bool, m, n int, data []byte) []byte {
	order := map[bool]string{true: "True", false: "False"}[fortran]
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }", descr, order, m, n)
	return slices.Concat([]byte("\x93NUMPY\x01\x00\x76\x00"), []byte(fmt.Sprintf("%-117s\n", header)), data)
}

// encode returns the entries as numbers of 2, 4 or 8 bytes, by rows or by columns.
func (a matrix) encode(size int, order binary.AppendByteOrder, byRows bool) (data []byte) {
	for k := range a.x {
		x := a.x[k]
		if byRows {
			x = a.at(k/a.n, k%a.n)
		}
		switch size {
		case 8:
			data = order.AppendUint64(data, math.Float64bits(x))
		case 4:
			data = order.AppendUint32(data, math.Float32bits(float32(x)))
		default:
			half := uint16(0x3C00) // 1: what the finite ones are does not matter
			switch {
			case math.IsNaN(x):
				half = 0x7E00
			case math.IsInf(x, 1):
				half = 0x7C00
			case math.IsInf(x, -1):
				half = 0xFC00
			}
			data = order.AppendUint16(data, half)
		}
	}
	return data
}

// generated is a matrix of gen.
func generated(t *testing.T, kind string, o gen.Options) matrix {
	t.Helper()
	g, err := gen.New(kind, o)
	if err != nil {
		t.Fatal(err)
	}
	a := build(int(o.Rows), int(o.Cols), func(i, j int) float64 { return 0 })
	if err := g.Columns(0, o.Cols, a.x, a.m); err != nil {
		t.Fatal(err)
	}
	return a
}

func gauss(t *testing.T, m, n int) matrix {
	return generated(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 1})
}

// values returns the singular values by gonum.
func (a matrix) values(t *testing.T) []float64 {
	t.Helper()
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(a.n, a.m, a.x), mat.SVDNone) { // row-major: Aᵀ
		t.Fatal("gonum's SVD failed")
	}
	return svd.Values(nil)
}
