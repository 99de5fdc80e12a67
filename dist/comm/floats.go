package comm

import (
	"encoding/json"
	"fmt"
	"unsafe"

	"jmpi/kernels"
)

// Word is what numbers are sent as.
type Word interface{ float64 | [2]int32 }

// Gather returns the numbers of every rank. They must not be changed.
func Gather[T Word](c Comm, mine []T) ([][]T, error) {
	if c.Size() == 1 {
		return [][]T{mine}, nil
	}
	all, err := c.Allgather(BytesOf(mine))
	if err != nil {
		return nil, fmt.Errorf("comm: gather: %w", err)
	}
	out := make([][]T, len(all))
	for i, b := range all {
		out[i] = numbersOf[T](b)
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
	return numbersOf[float64](all), nil
}

// BytesOf and numbersOf give the bytes of numbers, and back.
func BytesOf[T Word](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*kernels.WordBytes)
}

func numbersOf[T Word](b []byte) []T {
	x := make([]T, len(b)/kernels.WordBytes)
	copy(BytesOf(x), b)
	return x
}

// AllOf returns what every rank tells, in a form that JSON has. It is collective.
func AllOf[T any](c Comm, mine T) ([]T, error) {
	b, err := json.Marshal(mine)
	if err != nil {
		return nil, fmt.Errorf("comm: what this rank tells: %w", err)
	}
	parts, err := c.Allgather(b)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(parts))
	for i, part := range parts {
		if err := json.Unmarshal(part, &all[i]); err != nil {
			return nil, fmt.Errorf("comm: what rank %d tells: %w", i, err)
		}
	}
	return all, nil
}
