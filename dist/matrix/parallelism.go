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
	samples, err := s.samples(count)
	if err != nil {
		return 0, err
	}
	all, err := comm.Gather(s.Comm, samples)
	if err != nil {
		return 0, err
	}
	// One rank computes what all decide by.
	var answer []float64
	if s.Comm.Rank() == 0 {
		a := make([]float64, count*s.M)
		for id, from := range s.ranks {
			for i := range count {
				if home, _ := s.home(i * s.N / count); home == id {
					copy(a[i*s.M:(i+1)*s.M], all[from])
					all[from] = all[from][s.M:]
				}
			}
		}
		answer = []float64{float64(s.M) * meanSquareCosine(s.M, count, a)}
	}
	if answer, err = comm.FromRank(s.Comm, 0, answer); err != nil {
		return 0, err
	}
	return answer[0], nil
}

// samples returns those of so many columns, at equal distances, that this rank has, by devices.
func (s *Matrix) samples(count int) (x []float64, err error) {
	for i, dev := range s.own {
		var at []int
		for k := range count {
			if id, a := s.home(k * s.N / count); id == s.first+i {
				at = append(at, a)
			}
		}
		p, err := dev.panel(s.M, len(at))
		if err != nil {
			return nil, err
		}
		part := make([]float64, s.M*len(at))
		if err := dev.MoveColumns(p, Natural(len(at)), s.shares[i], at); err != nil {
			return nil, err
		}
		if err := dev.Read(part, max(1, s.M), p); err != nil {
			return nil, err
		}
		if err := dev.release(p.Data); err != nil {
			return nil, err
		}
		x = append(x, part...)
	}
	return x, nil
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
