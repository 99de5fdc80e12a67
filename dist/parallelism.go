package dist

import (
	"jmpi/internal/dense"
)

// decayingParallelism is the parallelism of the columns from which the singular values of a matrix count as decaying.
const decayingParallelism = 4

// parallelismSample is how many columns the parallelism is estimated from.
const parallelismSample = 128

// parallelism estimates how much faster than a random matrix's the singular values decay: the mean square of the cosines between some
// columns, times the number of rows. It is about 1 for independent random columns; for orthogonally invariant matrices, m·Σσᵢ⁴/(Σσᵢ²)²,
// so 18 if σ falls geometrically to 1e-8 of the largest. It is collective.
func (s *sheet) parallelism() (float64, error) {
	count := min(s.n, parallelismSample)
	var mine []float64
	for i := range count {
		if j := i * s.n / count; s.owner(j) == s.comm.Rank() {
			mine = append(mine, s.column(j)...)
		}
	}
	all, err := gather(s.comm, mine)
	if err != nil {
		return 0, err
	}
	// One rank computes what all decide by.
	var answer []float64
	if s.comm.Rank() == 0 {
		a := make([]float64, 0, count*s.m)
		for i := range count {
			from := s.owner(i * s.n / count)
			a = append(a, all[from][:s.m]...)
			all[from] = all[from][s.m:]
		}
		answer = []float64{float64(s.m) * meanSquareCosine(s.m, count, a)}
	}
	if answer, err = fromRank(s.comm, 0, answer); err != nil {
		return 0, err
	}
	return answer[0], nil
}

// meanSquareCosine returns the mean of the squares of the cosines between the n columns of a, which it scales, m×n; 0 for fewer than two columns.
func meanSquareCosine(m, n int, a []float64) float64 {
	for j := range n {
		dense.Normalize(a[j*m : (j+1)*m])
	}
	if n < 2 {
		return 0
	}
	h := make([]float64, n*n)
	dense.Product(true, false, n, n, m, 1, a, m, a, m, 0, h, n)
	sum := 0.0
	for j := range n {
		for i := range j {
			sum += h[i+j*n] * h[i+j*n]
		}
	}
	return sum / float64(n*(n-1)/2)
}
