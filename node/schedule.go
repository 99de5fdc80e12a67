package node

import (
	"fmt"
	"slices"
	"sync"

	"jmpi/kernels"
	"jmpi/strategy"
)

// schedules makes the tables of the inner orderings, each once.
type schedules struct {
	name   string
	mu     sync.Mutex
	tables map[int]*strategy.Table
	flat   map[int]*kernels.Schedule
	across map[int]*kernels.Schedule // nil where there is none
}

func newSchedules(name string) *schedules {
	return &schedules{name: name, tables: map[int]*strategy.Table{}, flat: map[int]*kernels.Schedule{},
		across: map[int]*kernels.Schedule{}}
}

// table returns the strategy of an even order.
func (s *schedules) table(order int) (*strategy.Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tableLocked(order)
}

func (s *schedules) tableLocked(order int) (*strategy.Table, error) {
	if t := s.tables[order]; t != nil {
		return t, nil
	}
	t, err := ordering(s.name, order)
	if err != nil {
		return nil, fmt.Errorf("node: inner ordering: %w", err)
	}
	s.tables[order] = t
	return t, nil
}

// pointwise returns the schedule for factors of order k. The order of its table is rounded up, so
// that factors whose orders differ by one or two share a table, and so that the table is an
// expansion of a small one.
func (s *schedules) pointwise(k int) (*kernels.Schedule, error) {
	return s.once(s.flat, k, func(t *strategy.Table) *kernels.Schedule { return scheduleOf(t.N, t.Steps) })
}

// pointwiseAcross returns the p-steps of pointwise(k) whose pairs all have an index in either half. It
// returns nil where these are not all such pairs: then the strategy does not tell them apart.
func (s *schedules) pointwiseAcross(k int) (*kernels.Schedule, error) {
	return s.once(s.across, k, func(t *strategy.Table) *kernels.Schedule {
		within := func(p strategy.Pair) bool { return p.P >= t.N/2 || p.Q < t.N/2 }
		f := scheduleOf(t.N, slices.DeleteFunc(slices.Clone(t.Steps),
			func(step []strategy.Pair) bool { return slices.ContainsFunc(step, within) }))
		if len(f.Pairs) != t.N*t.N/2 {
			return nil
		}
		return f
	})
}

// once returns the schedule of all for factors of order k, which is made of its table the first time.
func (s *schedules) once(all map[int]*kernels.Schedule, k int,
	build func(*strategy.Table) *kernels.Schedule) (*kernels.Schedule, error) {
	order := pointwiseOrder(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, known := all[order]; known {
		return f, nil
	}
	t, err := s.tableLocked(order)
	if err != nil {
		return nil, err
	}
	all[order] = build(t)
	return all[order], nil
}

func scheduleOf(order int, steps [][]strategy.Pair) *kernels.Schedule {
	f := &kernels.Schedule{Order: order}
	for _, step := range steps {
		f.Pairs = append(f.Pairs, flat(step)...)
	}
	return f
}

// flat returns the indices of pairs one after the other.
func flat(pairs []strategy.Pair) (list []int32) {
	for _, p := range pairs {
		list = append(list, int32(p.P), int32(p.Q))
	}
	return list
}

// pointwiseOrder rounds k up to a power of two.
func pointwiseOrder(k int) int {
	p := 2
	for p < k {
		p *= 2
	}
	return p
}
