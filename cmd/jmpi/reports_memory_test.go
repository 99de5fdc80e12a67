package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jmpi/internal/matio"
	"jmpi/kernels/cpu"
)

// What does not fit is refused before it is read, with the memory that there is and that it takes.
func TestReportsMemory(t *testing.T) {
	device, err := cpu.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	free := device.Describe().Free
	if err := device.Close(); err != nil {
		t.Fatal(err)
	}
	rows, cols := int64(300_000), int64(10_000)
	for 8*rows*cols < 2*free {
		rows *= 2
	}
	for _, ranks := range []int{1, 4} {
		path := filepath.Join(t.TempDir(), "a.npy")
		w, err := matio.CreateNpy(path, rows, cols) // without blocks on the disk
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		// Without vectors: U and V may be too large for the disk, which is found before.
		o := svdRuns{Memory: 1 << 30, Runs: []svdRun{{path, path + ".svd", "none"}}}.on(t, ranks)[0]
		o.refused(t, exitFailure, fmt.Sprintf("a %d×%d matrix needs ", rows, cols))
		var needs, has float64
		text := o.stderr[max(0, strings.Index(o.stderr, "matrix needs ")):]
		if _, err := fmt.Sscanf(text, "matrix needs %g GiB", &needs); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(text[max(0, strings.Index(text, "which has ")):], "which has %g GiB",
			&has); err != nil {
			t.Fatal(err)
		}
		if gib := float64(8*rows*cols) / (1 << 30); !(needs > 0.99*gib && 0 < has && has < gib) {
			t.Errorf("a matrix of %.3g GiB: %s", gib, o.stderr)
		}
	}
}

// The numerical rank in info.json is that of the matrix.
func TestReportsRank(t *testing.T) {
	examples := degenerate(t)
	for _, ranks := range []int{1, 4} {
		for i, o := range runExamples(t, ranks, examples) {
			want := 6 // of the one without given σ
			if s := examples[i].sigma; s != nil {
				if want = slices.Index(s, 0); want < 0 {
					want = len(s)
				}
			}
			if o.rank != want {
				t.Errorf("%s on %d ranks: rank %d, want %d, S = %v", examples[i].name, ranks, o.rank, want, o.s)
			}
		}
	}
}
