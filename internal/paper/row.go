package paper

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// Spectra is the number of spectra; 1 and 3 are indefinite.
const Spectra = 4

// Base is the strategy to whose time others are compared: reverse R.
const Base = "rev-rowcyc"

// The variants of a row.
const (
	Full  = "full"
	Block = "block"
	None  = "-" // of a driver of LAPACK
)

// Row is a decomposition of the factor G of a matrix with one of the spectra.
type Row struct {
	Spectrum  int    // 1 to Spectra
	N         int    // order
	What      string // pivot strategy, or driver of LAPACK
	Variant   string
	Seconds   float64 // wall time
	Sweeps    int     // of the topmost level, the last, empty one included; 0 for a driver
	Rotations int64   // of all sweeps; 0 for a driver
	Converged bool
	Ratio     float64 // Seconds over those of Base, full block
	Error     float64 // relative, by RelativeError
}

// isBase says whether other times are compared to this row's.
func (r Row) isBase() bool { return r.What == Base && r.Variant == Full }

// label names the row in a figure.
func (r Row) label() string {
	if r.Variant == Block {
		return r.What + ", block"
	}
	return r.What
}

// RelativeError returns max |σᵢ²·jᵢ − λᵢ|/|λᵢ| ([Nov15, (6.1)]), where jᵢ is +1 for the first positive of the
// sigma and −1 for the others. Both the σᵢ²·jᵢ and lambda are taken in non-increasing order; no λᵢ may be 0.
func RelativeError(sigma, lambda []float64, positive int) float64 {
	eigen := make([]float64, len(sigma))
	for i, s := range sigma {
		eigen[i] = s * s
		if i >= positive {
			eigen[i] = -eigen[i]
		}
	}
	descending := func(x []float64) []float64 {
		x = slices.Sorted(slices.Values(x))
		slices.Reverse(x)
		return x
	}
	eigen, lambda = descending(eigen), descending(lambda)
	worst := 0.0
	for i, l := range lambda {
		worst = math.Max(worst, math.Abs(eigen[i]-l)/math.Abs(l))
	}
	return worst
}

// Compare sets the ratios of rows that decompose the same matrix.
func Compare(rows []Row) {
	i := slices.IndexFunc(rows, Row.isBase)
	for j := range rows {
		rows[j].Ratio = math.NaN()
		if i >= 0 {
			rows[j].Ratio = rows[j].Seconds / rows[i].Seconds
		}
	}
}

// Header names the columns of WriteText.
const Header = "spectrum n what variant seconds sweeps rotations ratio error"

// WriteText writes a line for each row; a run that has not converged has a > before its sweeps.
func WriteText(w io.Writer, rows []Row) error {
	for _, r := range rows {
		sweeps, rotations := "-", "-"
		if r.Variant != None {
			sweeps, rotations = strconv.Itoa(r.Sweeps), strconv.FormatInt(r.Rotations, 10)
		}
		if !r.Converged {
			sweeps = ">" + sweeps
		}
		_, err := fmt.Fprintf(w, "%d %5d %-12s %-5s %9.4f %3s %11s %6.2f %.2e\n", r.Spectrum, r.N, r.What,
			r.Variant, r.Seconds, sweeps, rotations, r.Ratio, r.Error)
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes the rows, numbers with all their digits, below a line that names the columns.
func WriteCSV(w io.Writer, rows []Row) error {
	c := csv.NewWriter(w)
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	records := [][]string{{"spectrum", "n", "what", "variant", "seconds", "sweeps", "rotations", "converged",
		"ratio", "error"}}
	for _, r := range rows {
		records = append(records, []string{strconv.Itoa(r.Spectrum), strconv.Itoa(r.N), r.What, r.Variant,
			number(r.Seconds), strconv.Itoa(r.Sweeps), strconv.FormatInt(r.Rotations, 10),
			strconv.FormatBool(r.Converged), number(r.Ratio), number(r.Error)})
	}
	return c.WriteAll(records)
}
