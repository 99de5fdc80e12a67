package gen

import "math"

// The kinds whose entries have a formula of their own.

func gauss(o Options) (*Matrix, error) {
	return &Matrix{Rows: o.Rows, Cols: o.Cols, column: func(j int, dst []float64) {
		r := stream(o.Seed, "gauss", j)
		for i := range dst {
			dst[i] = r.NormFloat64()
		}
	}}, nil
}

func uniform(o Options) (*Matrix, error) {
	return &Matrix{Rows: o.Rows, Cols: o.Cols, column: func(j int, dst []float64) {
		r := stream(o.Seed, "uniform", j)
		for i := range dst {
			dst[i] = 2*r.Float64() - 1
		}
	}}, nil
}

func hilbert(o Options) (*Matrix, error) {
	return &Matrix{Rows: o.Rows, Cols: o.Cols, column: func(j int, dst []float64) {
		for i := range dst {
			dst[i] = 1 / float64(i+j+1)
		}
	}}, nil
}

// kahanAngle is the customary angle of Kahan's matrix; s and c are its sine and cosine.
const kahanAngle = 1.2

// kahan is Kahan's matrix: upper triangular, s^i on the diagonal and −c·s^i to the right of it,
// whose small singular value does not show on the diagonal.
//
// Source: W. Kahan, Numerical linear algebra, Canad. Math. Bull. 9 (1966) 757–801.
func kahan(o Options) (*Matrix, error) {
	s, c := math.Sincos(kahanAngle)
	return &Matrix{Rows: o.Rows, Cols: o.Cols, column: func(j int, dst []float64) {
		for i := range dst {
			switch power := math.Pow(s, float64(i)); {
			case i < j:
				dst[i] = -c * power
			case i == j:
				dst[i] = power
			default:
				dst[i] = 0
			}
		}
	}}, nil
}
