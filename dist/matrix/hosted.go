package matrix

import "jmpi/internal/parallel"

// hosted are copies of the columns of a matrix in the memory of the hosts, each on the rank of its device:
// for what goes element by element.
type hosted struct {
	*Devices
	m, n    int
	threads int               // that work on them
	own     map[int][]float64 // the columns of this rank
	order   []int             // their numbers, increasing
}

// hostedOf copies the columns of this rank from the devices.
func hostedOf(s *Matrix, threads int) (*hosted, error) {
	h := &hosted{Devices: s.Devices, m: s.M, n: s.N, threads: threads, own: map[int][]float64{}}
	return h, s.EachBlock(func(j0, j1 int, x []float64) error {
		block := append([]float64(nil), x...)
		for j := j0; j < j1; j++ {
			h.own[j] = block[(j-j0)*s.M : (j-j0+1)*s.M]
			h.order = append(h.order, j)
		}
		return nil
	})
}

// rankOf returns the rank that has column j.
func (h *hosted) rankOf(j int) int {
	id, _ := h.home(j)
	return h.ranks[id]
}

// each calls f for all columns of this rank, from several goroutines.
func (h *hosted) each(f func(j int, x []float64)) {
	parallel.Do(h.threads, len(h.order), func(i int) { f(h.order[i], h.own[h.order[i]]) })
}
