package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Conventions: V, not its transpose, and the rule of the signs, on matrices whose factors are known.
func TestReportsConventions(t *testing.T) {
	r := math.Sqrt2 / 2
	for _, ranks := range []int{1, 4} {
		known := func(name string, a matrix, s []float64, u, v matrix) example {
			return example{name, a, s, 4 * eps, func(t *testing.T, o outcome) {
				if o.u.m != u.m || o.v.m != v.m {
					t.Fatalf("U %d×%d, V %d×%d", o.u.m, o.u.n, o.v.m, o.v.n)
				}
				near(t, "U", o.u.x, u.x, 8*eps)
				near(t, "V", o.v.x, v.x, 8*eps)
			}}
		}
		// The 2×3 matrix is U·diag(30, 15)·Vᵀ with U = [3 4; 4 -3]/5, V = [1 2; 2 1; 2 -2]/3.
		two, three := byRows(2, .6, .8, .8, -.6), byRows(2, 1./3, 2./3, 2./3, 1./3, 2./3, -2./3)
		runExamples(t, ranks, []example{
			known("2×3", byRows(3, 14, 16, 4, 2, 13, 22), []float64{30, 15}, two, three),
			known("3×2", byRows(2, 14, 2, 16, 13, 4, 22), []float64{30, 15}, three, two),
			known("cyclic", byRows(3, 0, -3, 0, 0, 0, 2, 1, 0, 0), []float64{3, 2, 1},
				byRows(3, 1, 0, 0, 0, 1, 0, 0, 0, 1), byRows(3, 0, 0, 1, -1, 0, 0, 0, 1, 0)),
			known("the first of two", byRows(1, -5, 5), []float64{5 * math.Sqrt2}, byRows(1, r, -r), byRows(1, -1)),
		})
	}
	if code, text := output(t, "svd", "--help"); code != exitDone ||
		!strings.Contains(text, "V, not its transpose") {
		t.Errorf("the help does not say what V.npy holds: exit code %d, %s", code, text)
	}
}

// The same bits from run to run, on 1, 2 and 4 ranks, for any number of threads, and for 12 devices on 1, 2,
// 3 and 4 ranks; on 3 ranks with a device each, whose ordering is another one, the same values.
func TestReportsSameBits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.npy")
	gauss(t, 110, 96).write(t, path)
	run := 0
	solve := func(ranks int, flags ...string) outcome {
		run++
		o := runOn(t, ranks, []svdRun{{path, filepath.Join(dir, fmt.Sprint(run)), "both"}},
			append(flags, "--block", "8")...)[0]
		o.right(t)
		return o
	}
	want := solve(1)
	for _, ranks := range []int{1, 2, 4} {
		solve(ranks, "--threads", "1").sameAs(t, want, fmt.Sprintf("%d ranks", ranks))
	}
	solve(1, "--threads", "3").sameAs(t, want, "three threads")
	solve(3).sigma(t, want.s, 1e-13)
	want = solve(1, "--devices-per-rank", "12")
	for _, ranks := range []int{2, 3, 4} {
		solve(ranks, "--devices-per-rank", fmt.Sprint(12/ranks)).sameAs(t, want,
			fmt.Sprintf("12 devices on %d ranks", ranks))
	}
	info, err := os.ReadFile(filepath.Join(want.Dir, "info.json"))
	if err != nil || !bytes.Contains(info, []byte("V.npy holds V, not its transpose")) {
		t.Errorf("info.json does not say what V.npy holds: %s, error %v", info, err)
	}
}
