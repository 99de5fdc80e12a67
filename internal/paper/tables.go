package paper

import (
	"fmt"
	"io"
	"slices"
)

// JacobiDriver is the driver of LAPACK in Table 6.1, and TableSpectrum the spectrum of Tables 6.1 and 6.2.
const (
	JacobiDriver  = "dgesvj"
	TableSpectrum = 2
)

// WriteTables writes Tables 6.1 to 6.3, as far as there are rows for them. Lines that begin with %
// are titles.
func WriteTables(w io.Writer, rows []Row) error {
	for _, table := range []func(io.Writer, []Row) error{driverTable, timeTable, variantTable} {
		if err := table(w, rows); err != nil {
			return err
		}
	}
	return nil
}

// driverTable writes Table 6.1.
func driverTable(w io.Writer, rows []Row) error {
	drivers := pick(rows, func(r Row) bool { return r.Spectrum == TableSpectrum && r.What == JacobiDriver })
	return columns(w, fmt.Sprintf("Table 6.1: n, time of %s over that of %s, spectrum %d", JacobiDriver, Base,
		TableSpectrum), drivers, func(r Row) string { return fmt.Sprintf("%5d %7.2f", r.N, r.Ratio) })
}

// timeTable writes Table 6.2.
func timeTable(w io.Writer, rows []Row) error {
	times := pick(rows, func(r Row) bool { return r.Spectrum == TableSpectrum && r.isBase() })
	return columns(w, fmt.Sprintf("Table 6.2: n, seconds of %s, spectrum %d, full block variant", Base,
		TableSpectrum), times, func(r Row) string { return fmt.Sprintf("%5d %10.4f", r.N, r.Seconds) })
}

// comparison is a column of Table 6.3.
type comparison struct {
	spectrum    int
	ratio       float64 // of the rotations, full block over block-oriented: the average over the orders
	full, block [2]int  // least and largest number of sweeps
}

// variantTable writes Table 6.3.
func variantTable(w io.Writer, rows []Row) error {
	return columns(w, fmt.Sprintf("Table 6.3: spectrum, rotations of %s full block over block-oriented, range "+
		"of sweeps of both", Base), compareVariants(rows),
		func(c comparison) string {
			return fmt.Sprintf("%d %6.2f %8s %8s", c.spectrum, c.ratio, span(c.full), span(c.block))
		})
}

// compareVariants compares the two variants of Base, one spectrum after the other.
func compareVariants(rows []Row) (all []comparison) {
	for _, spectrum := range spectra(rows) {
		c := comparison{spectrum: spectrum}
		pairs := 0
		for _, full := range pick(rows, func(r Row) bool { return r.Spectrum == spectrum && r.isBase() }) {
			i := slices.IndexFunc(rows, func(r Row) bool {
				return r.Spectrum == spectrum && r.N == full.N && r.What == Base && r.Variant == Block
			})
			if i < 0 || rows[i].Rotations == 0 {
				continue
			}
			pairs++
			c.ratio += (float64(full.Rotations)/float64(rows[i].Rotations) - c.ratio) / float64(pairs)
			c.full, c.block = widen(c.full, full.Sweeps), widen(c.block, rows[i].Sweeps)
		}
		if pairs > 0 {
			all = append(all, c)
		}
	}
	return all
}

// columns writes a title and a line for each entry, or nothing if there is none.
func columns[T any](w io.Writer, title string, entries []T, line func(T) string) error {
	for i, e := range entries {
		if i == 0 {
			if _, err := fmt.Fprintf(w, "%% %s\n", title); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(w, line(e)); err != nil {
			return err
		}
	}
	return nil
}

func pick(rows []Row, wanted func(Row) bool) (picked []Row) {
	for _, r := range rows {
		if wanted(r) {
			picked = append(picked, r)
		}
	}
	return picked
}

// spectra returns those that occur, in increasing order.
func spectra(rows []Row) []int { return distinct(rows, func(r Row) int { return r.Spectrum }) }

// orders returns those that occur, in increasing order.
func orders(rows []Row) []int { return distinct(rows, func(r Row) int { return r.N }) }

func distinct(rows []Row, of func(Row) int) (values []int) {
	for _, r := range rows {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// widen makes a range hold the positive x; [0, 0] is the empty range.
func widen(r [2]int, x int) [2]int {
	if r == [2]int{} {
		return [2]int{x, x}
	}
	return [2]int{min(r[0], x), max(r[1], x)}
}

// span writes a range: 8–9.
func span(r [2]int) string {
	if r[0] == r[1] {
		return fmt.Sprint(r[0])
	}
	return fmt.Sprintf("%d–%d", r[0], r[1])
}
