package comm

import (
	"fmt"
	"unsafe"

	"jmpi/kernels"
)

// Gather returns the numbers of every rank. They must not be changed.
func Gather(c Comm, mine []float64) ([][]float64, error) {
	if c.Size() == 1 {
		return [][]float64{mine}, nil
	}
	all, err := c.Allgather(BytesOf(mine))
	if err != nil {
		return nil, fmt.Errorf("comm: gather: %w", err)
	}
	out := make([][]float64, len(all))
	for i, b := range all {
		out[i] = floatsOf(b)
	}
	return out, nil
}

// FromRank gives every rank the numbers of one. They must not be changed.
func FromRank(c Comm, rank int, mine []float64) ([]float64, error) {
	if c.Size() == 1 {
		return mine, nil
	}
	all, err := c.Bcast(BytesOf(mine), rank)
	if err != nil {
		return nil, fmt.Errorf("comm: numbers of rank %d: %w", rank, err)
	}
	return floatsOf(all), nil
}

// BytesOf and floatsOf give the bytes of numbers, and back.
func BytesOf(x []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*kernels.WordBytes)
}

func floatsOf(b []byte) []float64 {
	x := make([]float64, len(b)/kernels.WordBytes)
	copy(BytesOf(x), b)
	return x
}
