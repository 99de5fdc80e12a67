package matrix

import (
	"jmpi/dist/comm"
	"jmpi/internal/dense"
)

// parallelismSample is how many columns the parallelism is estimated from.
const parallelismSample = 128

// Parallelism estimates how much faster than a random matrix's the singular values decay: the mean square of
// the cosines between some columns, times the number of rows. It is about 1 for independent random columns;
// for orthogonally invariant matrices, m·Σσᵢ⁴/(Σσᵢ²)², so 18 if σ falls geometrically to 1e-8 of the
// largest. It is collective.
func Parallelism(s *Matrix) (float64, error) {
	count := min(s.N, parallelismSample)
	var mine []float64
	for i := range count {
		id, at := s.home(i * s.N / count)
		if dev := s.here(id); dev != nil {
			x := make([]float64, s.M)
			if err := dev.Read(x, max(1, s.M), s.shares[id-s.first].Columns(at, at+1)); err != nil {
				return 0, err
			}
			mine = append(mine, x...)
		}
	}
	all, err := comm.Gather(s.Comm, mine)
	if err != nil {
		return 0, err
	}
	// One rank computes what all decide by.
	var answer []float64
	if s.Comm.Rank() == 0 {
		a := make([]float64, 0, count*s.M)
		for i := range count {
			id, _ := s.home(i * s.N / count)
			from := s.ranks[id]
			a = append(a, all[from][:s.M]...)
			all[from] = all[from][s.M:]
		}
		answer = []float64{float64(s.M) * meanSquareCosine(s.M, count, a)}
	}
	if answer, err = comm.FromRank(s.Comm, 0, answer); err != nil {
		return 0, err
	}
	return answer[0], nil
}

// meanSquareCosine returns the mean of the squares of the cosines between the n columns of a, which it
// scales, m×n; 0 for fewer than two columns.
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
