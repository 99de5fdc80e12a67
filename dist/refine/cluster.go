package refine

import (
	"jmpi/kernels"
)

// cluster are the columns start ≤ j < end, which large angles join.
type cluster struct{ start, end int }

// clustersOf returns the clusters of columns that are sorted by their norms.
func clustersOf(a kernels.Angles) (all []cluster) {
	for j := range a.High {
		if a.High[j] < 0 {
			continue
		}
		c := cluster{min(j, a.Low[j]), max(j, a.High[j]) + 1}
		for len(all) > 0 && all[len(all)-1].end > c.start {
			last := all[len(all)-1]
			c = cluster{min(c.start, last.start), max(c.end, last.end)}
			all = all[:len(all)-1]
		}
		all = append(all, c)
	}
	return all
}

// usable tells whether the clusters are too large.
func usable(all []cluster, norms []float64) (Outcome, bool) {
	return Clusters, len(all) > 0
}

type turns struct{}

func (s *state) turnsOf(l *look) (turns, error) { return turns{}, nil }

func (s *state) turn(turns) error { return nil }
