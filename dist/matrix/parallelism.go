package matrix

import (
	"jmpi/dist/comm"
	"jmpi/kernels"
)

// parallelismSample is how many columns the parallelism is estimated from.
const parallelismSample = 128

// Parallelism estimates how much faster than a random matrix's the singular values decay: the mean square of
// the cosines between some columns, times the number of rows. It is about 1 for independent random columns.
// For orthogonally invariant matrices it is m·(Σσᵢ⁴/(Σσᵢ²)² − 1/n): 0 for orthogonal columns, and 17 for m =
// n if σ falls geometrically to 1e-8 of the largest. It is collective.
func Parallelism(s *Matrix) (float64, error) {
	const on = 0 // the device that computes
	count := min(s.N, parallelismSample)
	sample := Columns{Device: on, Panel: kernels.Panel{M: s.M, N: count}}
	for i := range count {
		sample.To = append(sample.To, i*s.N/count)
	}
	dev := s.here(on)
	if dev != nil {
		var err error
		if sample.Panel, err = dev.panel(s.M, count); err != nil {
			return 0, err
		}
		defer func() { _ = dev.release(sample.Panel.Data) }()
	}
	if err := s.Give([]Columns{sample}, nil); err != nil {
		return 0, err
	}
	if err := s.trim(); err != nil {
		return 0, err
	}
	// One device computes what all ranks decide by.
	var answer []float64
	if dev != nil {
		mean, err := meanSquareCosine(dev, sample.Panel)
		if err != nil {
			return 0, err
		}
		answer = []float64{float64(s.M) * mean}
	}
	answer, err := comm.FromRank(s.Comm, s.ranks[on], answer)
	if err != nil {
		return 0, err
	}
	return answer[0], nil
}

// meanSquareCosine returns the mean of the squares of the cosines between the columns of a panel, which it
// scales; 0 for fewer than two columns.
func meanSquareCosine(dev *device, a kernels.Panel) (float64, error) {
	n := a.N
	if n < 2 {
		return 0, nil
	}
	norms, err := dev.ColumnNorms(a)
	if err != nil {
		return 0, err
	}
	for j, x := range norms {
		if x == 0 {
			norms[j] = 1
		}
	}
	if err := dev.Divide(a, nil, norms); err != nil {
		return 0, err
	}
	product, err := dev.panel(n, n)
	if err != nil {
		return 0, err
	}
	defer func() { _ = dev.release(product.Data) }()
	if err := dev.Gemm([]kernels.Gemm{{TransA: true, Alpha: 1, A: a, B: a, C: product}}); err != nil {
		return 0, err
	}
	h := make([]float64, n*n)
	if err := dev.Read(h, n, product); err != nil {
		return 0, err
	}
	sum := 0.0
	for j := range n {
		for i := range j {
			sum += h[i+j*n] * h[i+j*n]
		}
	}
	return sum / float64(n*(n-1)/2), nil
}
