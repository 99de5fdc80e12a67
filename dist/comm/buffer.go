package comm

import (
	"unsafe"

	"jmpi/kernels"
)

// HostBytes views host memory outside the Go heap as a slice. The address is reinterpreted, not
// converted: the garbage collector has no part in this memory.
func HostBytes(a kernels.Address, bytes int64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&a)), bytes)
}

// HostFloats views host memory outside the Go heap as numbers.
func HostFloats(a kernels.Address, count int) []float64 {
	return unsafe.Slice(*(**float64)(unsafe.Pointer(&a)), count)
}

// NewBuffer returns n zeroed bytes outside the Go heap, to be freed by FreeBuffer.
func NewBuffer(n int) ([]byte, error) { return newCSlice[byte](n) }

func FreeBuffer(b []byte) { freeCSlice(b) }

// HostAddress returns the address of memory outside the Go heap.
func HostAddress(b []byte) kernels.Address {
	return kernels.Address(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}
