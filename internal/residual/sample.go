package residual

import (
	"fmt"
	"math"
	"math/rand/v2"

	"jmpi/internal/parallel"
)

// Block is a part of a matrix in memory, column-major: its first row and column, its shape, its numbers.
type Block struct {
	Row, Column, M, N, Ld int
	Data                  []float64
}

// Factors are a decomposition A = U·diag(Sigma)·Vᵀ in memory, or the parts of it that one process has, m ≥ n.
type Factors struct {
	M, N    int
	A, U, V []Block
	Sigma   []float64
	// Sum adds up what all processes have, in place; nil: there is one.
	Sum func(x []float64) error
}

// samples is how many random vectors there are: an estimate of a norm is right to some ten percent.
const samples = 4

// Sample estimates the rows residual, orthU and orthV of Check from what random vectors become: of a vector z
// of independent standard normal numbers, the mean square of ‖X·z‖ is ‖X‖_F². It takes m·n operations where
// Check takes m·n².
func (f Factors) Sample() (rows map[string]float64, err error) {
	z := normal(f.N)
	square, err := f.sum([]float64{squares(f.A)})
	if err != nil {
		return nil, err
	}
	az, err := f.times(f.A, f.M, false, z)
	if err != nil {
		return nil, err
	}
	vz, err := f.times(f.V, f.N, true, z)
	if err != nil {
		return nil, err
	}
	if len(f.Sigma) != f.N {
		return nil, fmt.Errorf("residual: %d singular values of a matrix with %d columns", len(f.Sigma), f.N)
	}
	for i := range vz {
		vz[i] *= f.Sigma[i/samples]
	}
	uz, err := f.times(f.U, f.M, false, vz)
	if err != nil {
		return nil, err
	}
	residual := apart(az, uz) / (math.Sqrt(square[0]) * float64(max(f.M, f.N)) * epsilon)
	if square[0] == 0 && apart(az, uz) == 0 {
		residual = 0
	}
	rows = map[string]float64{"residual": residual}
	for _, q := range []struct {
		name   string
		blocks []Block
		rows   int
	}{{"orthU", f.U, f.M}, {"orthV", f.V, f.N}} {
		y, err := f.times(q.blocks, q.rows, false, z)
		if err != nil {
			return nil, err
		}
		back, err := f.times(q.blocks, f.N, true, y)
		if err != nil {
			return nil, err
		}
		rows[q.name] = apart(back, z) / (float64(f.N) * epsilon)
	}
	return rows, nil
}

// normal returns the random vectors: number k of all of them, then number k + 1.
func normal(n int) []float64 {
	r, x := rand.New(rand.NewPCG(17, 4)), make([]float64, n*samples)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// apart returns the root of the mean square of the distance of vectors.
func apart(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum / samples)
}

func squares(blocks []Block) (sum float64) {
	for _, b := range blocks {
		columns := make([]float64, b.N)
		parallel.Chunks(b.N, 1, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				for _, x := range b.Data[j*b.Ld:][:b.M] {
					columns[j] += x * x
				}
			}
		})
		for _, x := range columns {
			sum += x
		}
	}
	return sum
}

func (f Factors) sum(x []float64) ([]float64, error) {
	if f.Sum == nil {
		return x, nil
	}
	return x, f.Sum(x)
}

// times returns the product of a matrix, or of its transpose, and the vectors x; it has so many rows.
func (f Factors) times(blocks []Block, rows int, transposed bool, x []float64) ([]float64, error) {
	y := make([]float64, rows*samples)
	for _, b := range blocks {
		if transposed {
			parallel.Chunks(b.N, 1, func(lo, hi int) { b.columns(lo, hi, x, y) })
		} else {
			const chunk = 256
			parallel.Chunks((b.M+chunk-1)/chunk, 1, func(lo, hi int) {
				b.rows(lo*chunk, min(hi*chunk, b.M), x, y)
			})
		}
	}
	return f.sum(y)
}

// columns adds the products of columns with the vectors.
func (b Block) columns(lo, hi int, x, y []float64) {
	for j := lo; j < hi; j++ {
		var sum [samples]float64
		for i, e := range b.Data[j*b.Ld:][:b.M] {
			for k, z := range x[(b.Row+i)*samples:][:samples] {
				sum[k] += e * z
			}
		}
		for k, s := range sum {
			y[(b.Column+j)*samples+k] += s
		}
	}
}

// rows adds the products of rows with the vectors.
func (b Block) rows(lo, hi int, x, y []float64) {
	for j := range b.N {
		z := x[(b.Column+j)*samples:][:samples]
		for i, e := range b.Data[j*b.Ld+lo : j*b.Ld+hi] {
			to := y[(b.Row+lo+i)*samples:][:samples]
			for k := range to {
				to[k] += e * z[k]
			}
		}
	}
}
