package matrix

import (
	"cmp"
	"slices"
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

// Decreasing returns the indices of x by decreasing x, of one x in their order.
func Decreasing(x []float64) []int {
	order := Natural(len(x))
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(x[b], x[a]), a-b) })
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
