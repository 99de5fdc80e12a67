package paper

import (
	"bytes"
	"encoding/csv"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"
)

// measured are rows as of a run with two spectra and two orders.
func measured() []Row {
	var rows []Row
	for _, spectrum := range []int{1, 2} {
		for i, n := range []int{64, 128} {
			matrix := []Row{
				{What: Base, Variant: Full, Seconds: 2, Sweeps: 6 + i, Rotations: 900, Converged: true, Error: 2e-15},
				{What: Base, Variant: Block, Seconds: 1, Sweeps: 8, Rotations: int64(450 - 150*i), Converged: true,
					Error: 0},
				{What: "brentluk", Variant: Full, Seconds: 5, Sweeps: 30, Rotations: 2000, Error: 3e-13},
			}
			if spectrum == 2 {
				matrix = append(matrix, Row{What: JacobiDriver, Variant: None, Seconds: 11, Converged: true,
					Error: 1e-14})
			}
			for j := range matrix {
				matrix[j].Spectrum, matrix[j].N = spectrum, n
			}
			Compare(matrix)
			rows = append(rows, matrix...)
		}
	}
	return rows
}

func TestRelativeError(t *testing.T) {
	for _, c := range []struct {
		sigma, lambda []float64
		positive      int
		want          float64
	}{
		{[]float64{3, 2}, []float64{9, 4}, 2, 0},
		{[]float64{2, 3}, []float64{9, 4}, 2, 0},         // any order of σ
		{[]float64{3, 2, 4}, []float64{9, 4, -16}, 2, 0}, // J = diag(1, 1, −1)
		{[]float64{3, 2, 4}, []float64{9, 4, 16}, 2, 5},  // the sign counts
		{[]float64{3, 1}, []float64{9, 4}, 2, 0.75},      // relative to λ, not to the largest
		{[]float64{2, 1}, []float64{-1, -5}, 0, 0.2},
		{nil, nil, 0, 0},
	} {
		if got := RelativeError(c.sigma, c.lambda, c.positive); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("σ %v, λ %v, %d positive: %g, want %g", c.sigma, c.lambda, c.positive, got, c.want)
		}
	}
	if e := RelativeError([]float64{math.NaN()}, []float64{1}, 1); !math.IsNaN(e) {
		t.Errorf("NaN for σ: error %g", e)
	}
}

func TestCompare(t *testing.T) {
	for i, want := range []float64{1, 0.5, 2.5} {
		if got := measured()[i].Ratio; got != want {
			t.Errorf("row %d: ratio %g, want %g", i, got, want)
		}
	}
	alone := []Row{{What: "brentluk", Variant: Full, Seconds: 1}}
	if Compare(alone); !math.IsNaN(alone[0].Ratio) {
		t.Errorf("ratio %g to nothing", alone[0].Ratio)
	}
}

func TestWriteText(t *testing.T) {
	var out strings.Builder
	if err := WriteText(&out, measured()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range map[int]string{
		0: "1 64 rev-rowcyc full 2.0000 6 900 1.00 2.00e-15",
		2: "1 64 brentluk full 5.0000 >30 2000 2.50 3.00e-13", // not converged
		9: "2 64 dgesvj - 11.0000 - - 5.50 1.00e-14",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d: %s\nwant: %s", i, got, want)
		}
	}
	columns := len(strings.Fields(Header))
	for _, line := range lines {
		if n := len(strings.Fields(line)); n != columns {
			t.Errorf("%d columns, want %d: %s", n, columns, line)
		}
	}
}

func TestWriteCSV(t *testing.T) {
	var out bytes.Buffer
	if err := WriteCSV(&out, measured()); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1", "64", "brentluk", "full", "5", "30", "2000", "false", "2.5", "3e-13"}
	if len(records) != 1+len(measured()) || !slices.Equal(records[3], want) {
		t.Errorf("%d records, the fourth %v; want %v", len(records), records[3], want)
	}
}

func TestWriteTables(t *testing.T) {
	var out strings.Builder
	if err := WriteTables(&out, measured()); err != nil {
		t.Fatal(err)
	}
	want := `% Table 6.1: n, time of dgesvj over that of rev-rowcyc, spectrum 2
   64    5.50
  128    5.50
% Table 6.2: n, seconds of rev-rowcyc, spectrum 2, full block variant
   64     2.0000
  128     2.0000
% Table 6.3: spectrum, rotations of rev-rowcyc full block over block-oriented, range of sweeps of both
1   2.50      6–7        8
2   2.50      6–7        8
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if err := WriteTables(&out, nil); err != nil || out.Len() > 0 {
		t.Errorf("without rows: %v, %q", err, out.String())
	}
}

func TestFigures(t *testing.T) {
	two := measured()
	// Of spectrum 4 each line has a single point.
	three := append(measured(), Row{Spectrum: 4, N: 64, What: Base, Variant: Full, Ratio: 1, Error: 1e-15},
		Row{Spectrum: 4, N: 64, What: Base, Variant: Block, Ratio: 1, Error: 1e-15},
		Row{Spectrum: 4, N: 64, What: "brentluk", Variant: Full, Ratio: 1, Error: 1e-15})
	for _, f := range Figures() {
		var sizes [2][2]int
		for i, rows := range [][]Row{two, three} {
			var out bytes.Buffer
			if err := f.WritePNG(&out, rows); err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(&out)
			if err != nil {
				t.Fatalf("figure %s: %v", f.Name, err)
			}
			seen := map[color.Color]bool{}
			for x := range img.Bounds().Dx() {
				for y := range img.Bounds().Dy() {
					seen[color.RGBAModel.Convert(img.At(x, y))] = true
				}
			}
			for _, c := range colors[:3] { // a line each
				if !seen[color.RGBAModel.Convert(c)] {
					t.Errorf("figure %s: no pixel has the color %v", f.Name, c)
				}
			}
			sizes[i] = [2]int{img.Bounds().Dx(), img.Bounds().Dy()}
		}
		if sizes[0][0] != sizes[1][0] || sizes[1][1] < 2*sizes[0][1]-1 {
			t.Errorf("figure %s: two panels take %v, three %v pixels", f.Name, sizes[0], sizes[1])
		}
		if err := f.WritePNG(&bytes.Buffer{}, nil); err == nil {
			t.Errorf("figure %s of no rows: no error", f.Name)
		}
		broken := measured()
		broken[2].Ratio, broken[2].Error = math.NaN(), math.NaN()
		if err := f.WritePNG(&bytes.Buffer{}, broken); err == nil || !strings.Contains(err.Error(), "brentluk") {
			t.Errorf("figure %s with NaN: %v", f.Name, err)
		}
	}
}

func TestDecades(t *testing.T) {
	var labels []string
	ticks := decades(-15, -13)
	for _, tick := range ticks {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	if want := []string{"1e-15", "1e-14", "1e-13"}; !slices.Equal(labels, want) || len(ticks) != 3+2*8 {
		t.Errorf("labels %v, want %v; %d ticks", labels, want, len(ticks))
	}
}
