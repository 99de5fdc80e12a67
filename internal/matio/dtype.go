package matio

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"
)

// dtype is how a dense file stores a number.
type dtype struct {
	name    string
	size    int  // bytes
	swapped bool // the byte order of the file is not that of this machine
	// widen converts the len(x) numbers of raw, in this machine's byte order, to float64. raw may
	// be the last len(raw) bytes of x. nil: the numbers are float64.
	widen func(x []float64, raw []byte)
}

// dtypes has numpy's type codes without their byte order.
var dtypes = map[string]dtype{
	"f8": {name: "float64", size: 8},
	"f4": {name: "float32", size: 4, widen: widen[float32]},
	"f2": {name: "float16", size: 2, widen: widenHalf},
	"i8": {name: "int64", size: 8, widen: widen[int64]},
	"i4": {name: "int32", size: 4, widen: widen[int32]},
	"i2": {name: "int16", size: 2, widen: widen[int16]},
	"i1": {name: "int8", size: 1, widen: widen[int8]},
	"u8": {name: "uint64", size: 8, widen: widen[uint64]},
	"u4": {name: "uint32", size: 4, widen: widen[uint32]},
	"u2": {name: "uint16", size: 2, widen: widen[uint16]},
	"u1": {name: "uint8", size: 1, widen: widen[uint8]},
	"b1": {name: "bool", size: 1, widen: widenBool},
}

// parseDtype reads numpy's description of a type, as "<f8": a byte order, one of < > | = or none,
// and a type code.
func parseDtype(descr string) (dtype, error) {
	code := strings.TrimLeft(descr, "<>|=")
	d, ok := dtypes[code]
	order := strings.TrimSuffix(descr, code)
	switch {
	case strings.HasPrefix(code, "c"):
		return d, fmt.Errorf("complex numbers (dtype %.30q); only real matrices are decomposed; save "+
			"a.real if that is all", descr)
	case strings.HasPrefix(code, "O"):
		return d, fmt.Errorf("objects of Python (dtype %.30q); save a.astype('float64')", descr)
	case !ok || len(order) > 1:
		return d, fmt.Errorf("dtype %.30q is not supported; save a.astype('float64')", descr)
	case d.size > 1 && order == "|":
		return d, fmt.Errorf("dtype %.30q has no byte order; it must begin with <, > or =", descr)
	}
	// Without an order, and with =, it is this machine's, as in numpy.
	d.swapped = d.size > 1 && (order == "<" && !littleEndian || order == ">" && littleEndian)
	return d, nil
}

// littleEndian tells whether this machine is one.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// float64LE is the dtype of what this package writes.
var float64LE = dtype{name: "float64", size: 8, swapped: !littleEndian}

// bytesOf returns the memory of x.
func bytesOf(x []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 8*len(x))
}

// decode converts the numbers that lie in the last bytes of x, as the file has them, to float64 in place.
func (d dtype) decode(x []float64) {
	raw := bytesOf(x)[len(x)*(8-d.size):]
	if d.swapped {
		swapBytes(raw, d.size)
	}
	if d.widen != nil {
		d.widen(x, raw)
	}
}

// swapBytes reverses the bytes of each number of size 2, 4 or 8.
func swapBytes(raw []byte, size int) {
	le, be := binary.LittleEndian, binary.BigEndian
	for number := range slices.Chunk(raw, size) {
		switch size {
		case 2:
			le.PutUint16(number, be.Uint16(number))
		case 4:
			le.PutUint32(number, be.Uint32(number))
		case 8:
			le.PutUint64(number, be.Uint64(number))
		}
	}
}

// widen is the conversion of a type that Go has. The address of raw is a multiple of the size of T.
func widen[T float32 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](x []float64,
	raw []byte) {
	numbers := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), len(x))
	for k := range x {
		x[k] = float64(numbers[k])
	}
}

func widenBool(x []float64, raw []byte) {
	for k := range x {
		truth := 0.0
		if raw[k] != 0 {
			truth = 1
		}
		x[k] = truth
	}
}

// widenHalf converts IEEE 754 binary16: 1 sign bit, 5 exponent bits with bias 15, 10 fraction bits.
// The exponent and fraction bits, moved to their places in a float64, are the number times 2^(15−1023),
// subnormal halves included.
func widenHalf(x []float64, raw []byte) {
	for k := range x {
		h := uint64(binary.NativeEndian.Uint16(raw[2*k:]))
		magnitude := math.Float64frombits(h&0x7FFF<<42) * 0x1p1008
		if h&0x7C00 == 0x7C00 { // infinity or NaN
			magnitude = math.Float64frombits(exponentMask | h&0x3FF<<42)
		}
		x[k] = math.Copysign(magnitude, float64(int64(h<<48)))
	}
}
