package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ebitengine/purego"

	"jmpi/dist/comm"
)

// find sets *function to a routine of this process itself.
func find[F any](name string, function *F) bool {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, name)
	if err != nil {
		return false
	}
	purego.RegisterFunc(function, address)
	return true
}

// mpiLibrary returns the name and version of the linked MPI library, which tells them without being started.
func mpiLibrary() string {
	var version func(text []byte, length *int32) int32
	if !find("MPI_Get_library_version", &version) {
		return "a library that does not tell its version"
	}
	text := make([]byte, 1<<13) // MPI_MAX_LIBRARY_VERSION_STRING is 256 or 8192
	var length int32
	if version(text, &length) != 0 || int(length) > len(text) {
		return "a library that does not tell its version"
	}
	return comm.LibraryName(strings.TrimRight(string(text[:length]), "\x00"))
}

// cudaAwareness returns what the MPI library says of itself, which may be wrong. MPICH ends a process that
// asks before MPI has started.
func cudaAwareness(library string) string {
	var query func() int32
	switch {
	case !strings.HasPrefix(library, "Open MPI") || !find("MPIX_Query_cuda_support", &query):
		return "does not say whether it takes CUDA memory"
	case query() == 1:
		return "says that it takes CUDA memory"
	}
	return "says that it takes no CUDA memory"
}

// readMemory returns the kernel's figures of the memory in bytes, by name.
func readMemory() map[string]int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // which was only read
	return parseMemory(f)
}

// parseMemory reads lines "MemTotal:  16384 kB".
func parseMemory(r io.Reader) map[string]int64 {
	bytes := map[string]int64{}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		var n int64
		var unit string
		if _, err := fmt.Sscan(value, &n, &unit); err == nil && unit == "kB" {
			bytes[name] = n << 10
		}
	}
	return bytes
}

func memoryText(bytes map[string]int64) string {
	const gib = 1 << 30
	total, available := bytes["MemTotal"], bytes["MemAvailable"]
	if total == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.1f GiB, %.1f GiB available", float64(total)/gib, float64(available)/gib)
}
