package matio

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkReadColumns reads a quarter of the columns of a 4096×4096 matrix from the page cache.
func BenchmarkReadColumns(b *testing.B) {
	for _, c := range []struct {
		name, descr string
		fortran     bool
	}{{"float64/C", "<f8", false}, {"float64/Fortran", "<f8", true}, {"float32/C", "<f4", false},
		{"float32/Fortran", "<f4", true}} {
		b.Run(c.name, func(b *testing.B) { benchmarkQuarter(b, c.descr, c.fortran) })
	}
}

func benchmarkQuarter(b *testing.B, descr string, fortran bool) {
	const n, part = 4096, 1024
	f, bytes := openSquare(b, n, descr, fortran)
	dst := make([]float64, n*part)
	b.SetBytes(bytes / n * part)
	for b.Loop() {
		if err := f.ReadColumns(part, 2*part, dst, n); err != nil {
			b.Fatal(err)
		}
	}
}

// openSquare makes an n×n matrix and opens it; it returns the size of its numbers too.
func openSquare(b *testing.B, n int, descr string, fortran bool) (f *File, bytes int64) {
	var column []byte
	for i := range n {
		column = encode(column, descr, float64(i%251))
	}
	path := filepath.Join(b.TempDir(), "a.npy")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := file.Write(npyImage(1, descr, fortran, fmt.Sprintf("(%d, %d)", n, n), nil)); err != nil {
		b.Fatal(err)
	}
	for range n {
		if _, err := file.Write(column); err != nil {
			b.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	if f, err = Open(path); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f, int64(len(column) * n)
}

// BenchmarkChecksum sums a 4096×4096 matrix in the page cache: samples, 16 MiB, and all bytes.
func BenchmarkChecksum(b *testing.B) {
	f, bytes := openSquare(b, 4096, "<f8", true)
	for _, c := range []struct {
		name  string
		all   bool
		bytes int64
	}{{"samples", false, samples * pieceBytes}, {"all", true, bytes}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(c.bytes)
			for b.Loop() {
				if _, err := f.Checksum(c.all, 0, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMarket reads a quarter of the columns of a 512×512 matrix in text; the speed is that of
// the whole text.
func BenchmarkMarket(b *testing.B) {
	const n, part = 512, 128
	want := newTwin(n, n, func(i, j int) float64 { return math.Sqrt(float64(1 + i + n*j)) })
	for _, coordinate := range []bool{false, true} {
		text := marketText(want, coordinate, "general")
		f, err := newFile("a.mtx", strings.NewReader(text), int64(len(text)))
		if err != nil {
			b.Fatal(err)
		}
		dst := make([]float64, n*part)
		b.Run(map[bool]string{false: "array", true: "coordinate"}[coordinate], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := f.ReadColumns(part, 2*part, dst, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWriteColumns writes 4096×1024 numbers to the page cache.
func BenchmarkWriteColumns(b *testing.B) {
	const n, part = 4096, 1024
	w, err := CreateNpy(filepath.Join(b.TempDir(), "a.npy"), n, part)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			b.Error(err)
		}
	}()
	src := make([]float64, n*part)
	b.SetBytes(8 * n * part)
	for b.Loop() {
		if err := w.WriteColumns(0, src, n, part); err != nil {
			b.Fatal(err)
		}
	}
}
