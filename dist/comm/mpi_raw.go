package comm

/*
#cgo linux CFLAGS: -I/usr/lib/x86_64-linux-gnu/openmpi/include/openmpi
#cgo linux CFLAGS: -I/usr/lib/x86_64-linux-gnu/openmpi/include -pthread
#cgo linux LDFLAGS: -pthread -L/usr/lib/x86_64-linux-gnu/openmpi/lib -lmpi
#include <stdlib.h>
#include "mpi_raw.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"jmpi/kernels"
)

// The paths above are Debian's, as in gompi. Elsewhere CGO_CFLAGS and CGO_LDFLAGS, filled from
// mpicc, come before them.

// rawCompletion is what became of one request, raw_completion of mpi_raw.h.
type rawCompletion struct {
	id    int64
	bytes int64
	err   error
}

// rawError is the error of an MPI return code, nil for MPI_SUCCESS.
func rawError(code C.int) error {
	if code == 0 {
		return nil
	}
	return errors.New(rawText(func(text *C.char, size C.int) { C.raw_error_text(code, text, size) }))
}

// rawText returns the text that fill writes, its white space made single blanks.
func rawText(fill func(text *C.char, size C.int)) string {
	return strings.Join(strings.Fields(rawLines(fill)), " ")
}

// rawLines returns the text that fill writes.
func rawLines(fill func(text *C.char, size C.int)) string {
	const size = 1 << 13
	text := (*C.char)(C.malloc(size))
	defer C.free(unsafe.Pointer(text))
	fill(text, size)
	return C.GoString(text)
}

func rawStart() error { return rawError(C.raw_start()) }

func rawFinish() error { return rawError(C.raw_finish()) }

func rawLinger(d time.Duration) error { return rawError(C.raw_linger(C.int64_t(d))) }

func rawAbort(code int) { C.raw_abort(C.int(code)) }

func rawRing() { C.raw_ring() }

func rawNode() string { return rawText(func(t *C.char, n C.int) { C.raw_node(t, n) }) }

func rawVersion() string {
	return LibraryName(rawLines(func(t *C.char, n C.int) { C.raw_library(t, n) }))
}

// rawLibrary names the library and what it says of CUDA, which may be wrong both ways.
func rawLibrary() string {
	switch C.raw_cuda() {
	case 1:
		return rawVersion() + " (says that it takes CUDA memory)"
	case 0:
		return rawVersion() + " (says that it takes no CUDA memory)"
	}
	return rawVersion()
}

func rawIsend(a kernels.Address, bytes int64, to, tag int, id int64) error {
	return rawError(C.raw_isend(C.uintptr_t(a), C.int(bytes), C.int(to), C.int(tag), C.int64_t(id)))
}

func rawIrecv(a kernels.Address, bytes int64, from, tag int, id int64) error {
	return rawError(C.raw_irecv(C.uintptr_t(a), C.int(bytes), C.int(from), C.int(tag), C.int64_t(id)))
}

// rawWait waits for completions or the bell.
func rawWait(busyNanoseconds int64, spin bool) ([]rawCompletion, error) {
	var isSpin C.int
	if spin {
		isSpin = 1
	}
	var done *C.raw_completion
	var n C.int
	if err := rawError(C.raw_wait(C.int64_t(busyNanoseconds), isSpin, &done, &n)); err != nil {
		return nil, err
	}
	completions := make([]rawCompletion, n)
	for i, c := range unsafe.Slice(done, n) {
		completions[i] = rawCompletion{int64(c.id), int64(c.bytes), rawError(c.code)}
	}
	return completions, nil
}

// The slices below lie in C memory, because the operation goes on after the call has returned.

func rawIallreduce(in, out []int64, maximum bool, id int64) error {
	var isMaximum C.int
	if maximum {
		isMaximum = 1
	}
	return rawError(C.raw_iallreduce(int64s(in), int64s(out), C.int(len(in)), isMaximum, C.int64_t(id)))
}

func rawIallgather(in, out []int64, id int64) error {
	return rawError(C.raw_iallgather(int64s(in), int64s(out), C.int64_t(id)))
}

func rawIbcast(both []byte, root int, id int64) error {
	return rawError(C.raw_ibcast(unsafe.Pointer(unsafe.SliceData(both)), C.int(len(both)), C.int(root),
		C.int64_t(id)))
}

func rawIallgatherv(in, out []byte, lengths, offsets []C.int, id int64) error {
	return rawError(C.raw_iallgatherv(unsafe.Pointer(unsafe.SliceData(in)), C.int(len(in)),
		unsafe.Pointer(unsafe.SliceData(out)), unsafe.SliceData(lengths), unsafe.SliceData(offsets), C.int64_t(id)))
}

func rawIbarrier(id int64) error { return rawError(C.raw_ibarrier(C.int64_t(id))) }

func int64s(x []int64) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(x))) }

// cInt is the type of MPI's counts.
type cInt = C.int

// newCSlice returns n zeroed elements in C memory, to be freed by freeCSlice.
func newCSlice[T int64 | cInt | byte](n int) ([]T, error) {
	var element T
	p := C.calloc(C.size_t(max(n, 1)), C.size_t(unsafe.Sizeof(element)))
	if p == nil {
		return nil, fmt.Errorf("no memory for %d numbers of %d bytes", n, unsafe.Sizeof(element))
	}
	return unsafe.Slice((*T)(p), n), nil
}

func freeCSlice[T int64 | cInt | byte](s []T) { C.free(unsafe.Pointer(unsafe.SliceData(s))) }
