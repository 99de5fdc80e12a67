package kerneltest

import "jmpi/kernels"

// RoundRobin returns the strategy of a round-robin tournament of even order: order−1 p-steps, every
// pair once.
func RoundRobin(order int) *kernels.Schedule {
	s := &kernels.Schedule{Order: order}
	for step := range order - 1 {
		for i := range order / 2 {
			p, q := order-1, step
			if i > 0 {
				p, q = (step+i)%(order-1), (step-i+order-1)%(order-1)
			}
			s.Pairs = append(s.Pairs, int32(min(p, q)), int32(max(p, q)))
		}
	}
	return s
}

// ReverseRowCyclic returns the reverse of the row-cyclic strategy of an order 2ᵏ: p-step
// j = order−1 … 1 pairs i with i⊕j.
func ReverseRowCyclic(order int) *kernels.Schedule {
	s := &kernels.Schedule{Order: order}
	for j := order - 1; j > 0; j-- {
		for i := range order {
			if i < i^j {
				s.Pairs = append(s.Pairs, int32(i), int32(i^j))
			}
		}
	}
	return s
}

// schedules returns two strategies for factors of order k: one whose p-steps have nothing in common, and one
// where groups of p-steps pair the columns of groups of columns.
func schedules(k int) []*kernels.Schedule {
	order := 2
	for order < k {
		order *= 2
	}
	return []*kernels.Schedule{RoundRobin(k + k%2), ReverseRowCyclic(order)}
}
