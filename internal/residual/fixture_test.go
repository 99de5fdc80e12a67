package residual

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"jmpi/internal/matio"
	"jmpi/internal/report"
)

// decomposition is a matrix with its factors, column-major as in the files.
type decomposition struct {
	m, n, k       int
	a, s, u, v    []float64
	sigma         []float64
	info          *report.Info
	lambda, signs []float64 // beside the input
	noU, noV, noS bool
}

// decompose returns the singular value decomposition by gonum of the m×n matrix with the entries
// entry(i,j), with the signs that jmpi's results have.
func decompose(t testing.TB, m, n int, entry func(i, j int) float64) *decomposition {
	t.Helper()
	d := &decomposition{m: m, n: n, k: min(m, n)}
	a := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			a.Set(i, j, entry(i, j))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		t.Fatal("gonum's SVD failed")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	d.a, d.s, d.u, d.v = columns(a), svd.Values(nil), columns(&u), columns(&v)
	for l := range d.k {
		if largest := largestEntry(d.u[l*m : (l+1)*m]); largest < 0 {
			d.negate(l)
		}
	}
	return d
}

// columns returns the entries of a column by column.
func columns(a *mat.Dense) []float64 { return mat.DenseCopyOf(a.T()).RawMatrix().Data }

func largestEntry(x []float64) (largest float64) {
	for _, v := range x {
		if math.Abs(v) > math.Abs(largest) {
			largest = v
		}
	}
	return largest
}

// negate changes the sign of the l-th singular vectors.
func (d *decomposition) negate(l int) {
	for _, x := range [][]float64{d.u[l*d.m : (l+1)*d.m], d.v[l*d.n : (l+1)*d.n]} {
		for i := range x {
			x[i] = -x[i]
		}
	}
}

// run writes the files and checks them, with so small a budget that there are many panels.
func (d *decomposition) run(t testing.TB, budget int64) (Report, error) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, rows, cols int, x []float64) {
		w, err := matio.CreateNpy(filepath.Join(dir, name), int64(rows), int64(cols))
		if err == nil {
			err = w.WriteColumns(0, x, max(1, rows), cols)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("a.npy", d.m, d.n, d.a)
	if !d.noU {
		write("U.npy", d.m, d.k, d.u)
	}
	if !d.noV {
		write("V.npy", d.n, d.k, d.v)
	}
	if !d.noS {
		if err := matio.WriteVector(filepath.Join(dir, "S.npy"), d.s); err != nil {
			t.Fatal(err)
		}
	}
	for name, x := range map[string][]float64{"sigma": d.sigma, "lambda": d.lambda, "signature": d.signs} {
		if x == nil {
			continue
		}
		if err := matio.WriteVector(filepath.Join(dir, "a."+name+".npy"), x); err != nil {
			t.Fatal(err)
		}
	}
	if d.info != nil {
		if err := d.info.Write(filepath.Join(dir, "info.json")); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "a.npy")
	input, err := matio.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	return check(input, dir, Beside(path), budget)
}

// verdicts returns the names of the rows that failed.
func verdicts(r Report) string {
	var failed []string
	for _, row := range r.Rows {
		if row.Verdict == Failed {
			failed = append(failed, row.Name)
		}
	}
	return strings.Join(failed, " ")
}

func value(t testing.TB, r Report, name string) Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Name == name {
			return row
		}
	}
	t.Fatalf("no row %s in %v", name, r)
	return Row{}
}

// wave is a full-rank matrix that looks like no other.
func wave(i, j int) float64 { return math.Sin(float64(1 + i*i + 3*j + 7*i*j)) }
