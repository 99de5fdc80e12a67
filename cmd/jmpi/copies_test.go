package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/internal/matio"
)

// The right copy is that of most files, not of most ranks, or else that of rank 0. The ranks with
// another are named.
func TestCompareCopies(t *testing.T) {
	file := func(host, header string, size, inode int64, sum uint64) fileCopy {
		stamp := matio.Stamp{Inode: uint64(inode), Size: size}
		return fileCopy{Place: filePlace{host, stamp}, Header: header, Sum: matio.Sum{sum}}
	}
	same := func(host string, sum uint64) fileCopy { return file(host, "4×6 float64", 320, 7, sum) }
	const again = "; copy the file to all hosts again"
	many := []fileCopy{same("a", 1), same("b", 1), same("c", 1)}
	for range 10 {
		many = append(many, same("d", 2))
	}
	for _, test := range []struct {
		name   string
		copies []fileCopy
		want   string
	}{
		{"one rank", []fileCopy{same("a", 1)}, ""},
		{"one file", []fileCopy{same("a", 1), same("a", 1)}, ""},
		{"equal copies", []fileCopy{same("a", 1), same("b", 1), same("b", 1)}, ""},
		{"two", []fileCopy{same("a", 1), same("b", 2)},
			"rank 1 (b) has another x than rank 0 (a): the contents differ"},
		{"rank 0", []fileCopy{same("a", 2), same("b", 1), same("c", 1)},
			"rank 0 (a) has another x than rank 1 (b): the contents differ"},
		{"ranks of one host", []fileCopy{same("a", 1), same("b", 2), same("b", 2), same("b", 2)},
			"rank 1 (b), rank 2 (b), rank 3 (b) have another x than rank 0 (a): the contents differ"},
		{"all different", []fileCopy{same("a", 1), same("b", 2), same("c", 3)},
			"rank 1 (b), rank 2 (c) have another x than rank 0 (a): the contents differ"},
		{"many ranks", many, "rank 3 (d), rank 4 (d), rank 5 (d), rank 6 (d), rank 7 " +
			"(d), rank 8 (d), rank 9 (d), " +
			"rank 10 (d), 2 more have another x than rank 0 (a): the contents differ"},
		{"header and size", []fileCopy{same("a", 0), file("b", "6×4 float64", 320, 7, 0),
			file("c", "4×6 float64", 384, 7, 0)},
			"rank 1 (b) has another x than rank 0 (a): the header says 6×4 float64, not 4×6 float64; " +
				"rank 2 (c) has another x than rank 0 (a): the size is 384 bytes, not 320"},
		{"two files on one host", []fileCopy{same("a", 1), same("a", 1), file("a", "4×6 float64", 320, 8, 2)},
			"rank 2 (a) has another x than rank 0 (a): the contents differ"},
	} {
		got, want := "", test.want
		if err := compareCopies("x", test.copies); err != nil {
			got, want = err.Error(), want+again
		}
		if got != want {
			t.Errorf("%s: %q, want %q", test.name, got, want)
		}
	}
}

// inspected opens one file on each of so many ranks, and returns what compareCopies says of them.
func inspected(t *testing.T, all bool, paths ...string) error {
	t.Helper()
	errs := make([]error, len(paths))
	var wg sync.WaitGroup
	for rank, world := range comm.NewLocal(len(paths)) {
		wg.Go(func() {
			file, err := matio.Open(paths[rank])
			if err != nil {
				errs[rank] = err
				return
			}
			defer file.Close()
			copies, err := inspect(world, file, all)
			if err == nil {
				err = compareCopies("x", copies)
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	for rank, err := range errs {
		if fmt.Sprint(err) != fmt.Sprint(errs[0]) {
			t.Errorf("rank %d: %v; rank 0: %v", rank, err, errs[0])
		}
	}
	return errs[0]
}

// matrixFiles has a matrix of small numbers, as the bytes of a file in each format, by name.
func matrixFiles(rows, cols int) map[string][]byte {
	var raw, text []byte
	for i := range rows * cols {
		x := float64(100 + i%900)
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
		text = fmt.Appendf(text, "%.4f\n", x)
	}
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': True, 'shape': (%d, %d), }", rows, cols)
	return map[string][]byte{
		fmt.Sprintf("a.%dx%d.colmajor.f64", rows, cols): raw,
		"a.npy": append(fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n", header), raw...),
		"a.mtx": append(fmt.Appendf(nil, "%%%%MatrixMarket matrix array real general\n%d %d\n", rows, cols),
			text...),
	}
}

// A stale copy is found in every format. A change of one number in a small file is, and in a large one where
// all bytes are compared. With samples it is found if a tenth of the pages differ.
func TestStaleCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	// change returns a copy in which one digit of one number differs in every so many bytes.
	change := func(image []byte, every int) []byte {
		stale := bytes.Clone(image)
		for from := 0; from < len(image); from += every {
			to := min(from+every, len(image))
			begin := max(from, 200) // after the header
			stale[begin+rng.IntN(to-begin)] ^= 1
		}
		return stale
	}
	for _, test := range []struct {
		name       string
		rows, cols int
		every      int // bytes in which one changes
		all        bool
	}{
		{"small", 40, 30, 1 << 30, false},
		{"less than 16 MiB", 1000, 1000, 1 << 30, false},
		{"large, compared by samples", 1600, 1500, 40 << 10, false},
		{"large, all compared", 1600, 1500, 4 << 20, true},
	} {
		for name, image := range matrixFiles(test.rows, test.cols) {
			t.Run(test.name+" "+name, func(t *testing.T) {
				path := func(host string, image []byte) string {
					dir := filepath.Join(t.TempDir(), host)
					err := os.Mkdir(dir, 0o777)
					if err == nil {
						err = os.WriteFile(filepath.Join(dir, name), image, 0o666)
					}
					if err != nil {
						t.Fatal(err)
					}
					return filepath.Join(dir, name)
				}
				a, b := path("a", image), path("b", image)
				if err := inspected(t, test.all, a, b, a, b, b); err != nil {
					t.Errorf("equal copies: %v", err)
				}
				stale := path("stale", change(image, test.every))
				err := inspected(t, test.all, a, a, b, stale)
				if err == nil || !strings.Contains(err.Error(), "the contents differ") ||
					!strings.HasPrefix(err.Error(), "rank 3 (") {
					t.Errorf("a stale copy on rank 3 of 4: %v", err)
				}
			})
		}
	}
}

// A matrix in the other order has a header of the same length and the same numbers.
func TestCopyInOtherOrder(t *testing.T) {
	dir := t.TempDir()
	image := matrixFiles(30, 30)["a.npy"]
	other := bytes.Replace(image, []byte("True, "), []byte("False,"), 1)
	var paths []string
	for i, image := range [][]byte{image, other} {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.npy", i)))
		if err := os.WriteFile(paths[i], image, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := inspected(t, false, paths...); err == nil ||
		!strings.Contains(err.Error(), "the contents differ") {
		t.Errorf("%v", err)
	}
}
