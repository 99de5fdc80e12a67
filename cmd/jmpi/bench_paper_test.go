package main

import (
	"encoding/csv"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"jmpi/dist/comm"
	"jmpi/dist/devices"
	"jmpi/internal/paper"
	"jmpi/internal/rivals"
)

// paperOf runs bench --paper on ranks of one process and returns what rank 0 prints.
func paperOf(t *testing.T, ranks int, f benchFlags) string {
	t.Helper()
	var out strings.Builder
	var wg sync.WaitGroup
	for rank, world := range comm.NewLocal(ranks) {
		wg.Go(func() {
			o, err := newOpener().Open(world, devices.CPU, 1, 1)
			if err != nil {
				t.Error(err)
				return
			}
			s := &session{comm: world, Opened: o, log: zerolog.Nop()}
			b := &paperBench{session: s, f: f, out: &printer{w: io.Discard}}
			if rank == 0 {
				b.out.w = &out
			}
			if err := s.end(b.run()); err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		})
	}
	wg.Wait()
	return out.String()
}

func TestPaperTablesAndFigures(t *testing.T) {
	f := benchFlags{methodFlags: methodFlags{block: 4, maxSweeps: 30}, seed: 1, repeat: 1,
		vs: []string{"dgesvj"}}
	f.paperFlags = paperFlags{paper: true, sizes: []int{24, 40}, strategies: []string{"brentluk", "rev-rowcyc"},
		output: filepath.Join(t.TempDir(), "paper")}
	text := paperOf(t, 2, f)
	perSize := 3 * paper.Spectra // reverse R in two variants, and Brent–Luk
	if _, err := rivals.OpenLAPACK(); err == nil {
		perSize++
	}

	file, err := os.Open(filepath.Join(f.output, "rows.csv"))
	if err != nil {
		t.Fatalf("%v; printed:\n%s", err, text)
	}
	defer func() { _ = file.Close() }() // which was only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows = rows[1:]
	if want := len(f.sizes) * perSize; len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	for _, r := range rows {
		n, seconds, ratio, relative := number(t, r[1]), number(t, r[4]), number(t, r[8]), number(t, r[9])
		if r[7] != "true" || seconds <= 0 || !(ratio > 0) || !(relative <= n*0x1p-52) {
			t.Errorf("not converged, without time or ratio, or with an error above nε: %v", r)
		}
		if r[2] == "rev-rowcyc" && r[3] == "full" && ratio != 1 {
			t.Errorf("ratio of reverse R to itself: %v", r)
		}
		// every pair is rotated in the first sweep
		if r[3] != "-" && (number(t, r[5]) < 3 || number(t, r[6]) < n*(n-1)/2) {
			t.Errorf("too few sweeps or rotations: %v", r)
		}
		if !strings.Contains(text, strings.Join(r[:2], "    ")+" "+r[2]) {
			t.Errorf("not printed: %v", r)
		}
	}
	for _, table := range []string{"% Table 6.2", "% Table 6.3"} {
		if !strings.Contains(text, table) {
			t.Errorf("no %s in\n%s", table, text)
		}
	}
	for _, name := range []string{"fig6.1.png", "fig6.2.png"} {
		figure, err := os.Open(filepath.Join(f.output, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.DecodeConfig(figure); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = figure.Close() // which was only read
	}
}

func TestBroadcast(t *testing.T) {
	const n = pieceNumbers + 3 // two pieces
	var wg sync.WaitGroup
	for rank, world := range comm.NewLocal(3) {
		wg.Go(func() {
			x := make([]float64, n)
			if rank == 0 {
				for i := range x {
					x[i] = 1 / float64(i+1)
				}
			}
			if err := (&paperBench{session: &session{comm: world}}).broadcast(x); err != nil {
				t.Error(err)
			}
			for i, got := range x {
				if got != 1/float64(i+1) {
					t.Errorf("rank %d: number %d is %g", rank, i, got)
					break
				}
			}
		})
	}
	wg.Wait()
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Error(err)
		return math.NaN()
	}
	return x
}

// What is wrong with the flags is found before anything runs.
func TestPaperFlags(t *testing.T) {
	for _, args := range []string{
		"--sizes 64", "--strategies rowcyc", "-o x", "--paper --kind gauss", "--paper --variant full",
		"--paper --sizes 0", "--paper --sizes=",
		"--paper --strategies best", "--paper --vs scalapack", "--paper --repeat 0",
	} {
		if code := run(slices.Concat([]string{"bench"}, strings.Fields(args))); code != exitUsage {
			t.Errorf("bench %s: exit code %d", args, code)
		}
	}
}
