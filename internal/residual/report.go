package residual

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Verdict is the outcome of one row.
type Verdict string

// The verdicts, as they are printed.
const (
	Passed  Verdict = "PASSED"
	Failed  Verdict = "FAILED"
	Skipped Verdict = "skipped" // a factor that the row needs was not computed
)

// Row is one measured value with its verdict.
type Row struct {
	Name    string
	Value   float64 // NaN where the factors are not finite, or the row is skipped
	Verdict Verdict
}

// Report is the verdict on a decomposition.
type Report struct{ Rows []Row }

// Passed tells whether no row failed.
func (r Report) Passed() bool {
	for _, row := range r.Rows {
		if row.Verdict == Failed {
			return false
		}
	}
	return true
}

// WriteText writes a line "name = value  verdict" for each row, and PASSED or FAILED as the last.
func (r Report) WriteText(w io.Writer) error {
	var text strings.Builder
	for _, row := range r.Rows {
		value := "-"
		if row.Verdict != Skipped {
			value = fmt.Sprintf("%.3g", row.Value)
		}
		fmt.Fprintf(&text, "%s = %s  %s\n", row.Name, value, row.Verdict)
	}
	overall := Failed
	if r.Passed() {
		overall = Passed
	}
	fmt.Fprintln(&text, overall)
	_, err := io.WriteString(w, text.String())
	return err
}

// add judges a value: it passes below the limit.
func (r *Report) add(name string, value, limit float64) {
	verdict := Failed
	if value < limit {
		verdict = Passed
	}
	r.Rows = append(r.Rows, Row{name, value, verdict})
}

func (r *Report) skip(name string) {
	r.Rows = append(r.Rows, Row{name, math.NaN(), Skipped})
}
