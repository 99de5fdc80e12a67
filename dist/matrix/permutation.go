package matrix

import (
	"sort"
)

// Inverse returns the inverse of a permutation.
func Inverse(p []int) []int {
	if p == nil {
		return nil
	}
	q := make([]int, len(p))
	for i, x := range p {
		q[x] = i
	}
	return q
}

// Decreasing returns the indices of x by decreasing x.
func Decreasing(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return x[order[a]] > x[order[b]] })
	return order
}

// Natural returns the numbers from 0 to n−1.
func Natural(n int) []int {
	order := make([]int, n)
	for j := range order {
		order[j] = j
	}
	return order
}
