package topology

import "slices"

// stateSet is a set of states of equal length, numbered in the order in which they were added.
type stateSet struct {
	length int
	data   []uint16
	index  []int32 // open addressing, a power of two; -1 is free
}

func newStateSet(length int) *stateSet {
	s := &stateSet{length: length}
	s.rehash(64)
	return s
}

func (s *stateSet) len() int                { return len(s.data) / s.length }
func (s *stateSet) state(i int) []uint16    { return s.data[i*s.length : (i+1)*s.length] }
func (s *stateSet) find(state []uint16) int { return int(s.index[s.probe(state)]) }

// add returns the number of the state, and whether it is new.
func (s *stateSet) add(state []uint16) (int, bool) {
	at := s.probe(state)
	if s.index[at] >= 0 {
		return int(s.index[at]), false
	}
	id := s.len()
	s.index[at] = int32(id)
	s.data = append(s.data, state...)
	if 2*s.len() > len(s.index) {
		s.rehash(2 * len(s.index))
	}
	return id, true
}

// probe returns the place of the state in the index, or the free place where it belongs.
func (s *stateSet) probe(state []uint16) int {
	h := uint64(14695981039346656037) // FNV-1a, over 16-bit units
	for _, v := range state {
		h = (h ^ uint64(v)) * 1099511628211
	}
	mask := len(s.index) - 1
	at := int(h^h>>32) & mask
	for s.index[at] >= 0 && !slices.Equal(s.state(int(s.index[at])), state) {
		at = (at + 1) & mask
	}
	return at
}

func (s *stateSet) rehash(size int) {
	s.index = make([]int32, size)
	for i := range s.index {
		s.index[i] = -1
	}
	for id := range s.len() {
		s.index[s.probe(s.state(id))] = int32(id)
	}
}
