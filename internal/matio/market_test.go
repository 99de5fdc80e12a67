package matio

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMarket(t *testing.T) {
	for _, c := range []struct {
		name, text string
		rows, cols int64
		want       []float64 // column-major
	}{
		{"array", "%%MatrixMarket matrix array real general\n2 3\n1\n-2.5\n3e2\n4\n5\n6\n", 2, 3,
			[]float64{1, -2.5, 300, 4, 5, 6}},
		{"array, symmetric", "%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", 3, 3,
			[]float64{1, 2, 3, 2, 4, 5, 3, 5, 6}},
		{"array, skew", "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n", 3, 3,
			[]float64{0, 1, 2, -1, 0, 3, -2, -3, 0}},
		{"coordinate", "%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 5\n1 2 7\n", 2, 2,
			[]float64{0, 5, 7, 0}},
		{"symmetric", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 5\n", 2, 2,
			[]float64{3, 5, 5, 0}},
		{"skew", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n", 2, 2,
			[]float64{0, 5, -5, 0}},
		{"pattern", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n", 2, 2,
			[]float64{0, 1, 1, 0}},
		{"zeros and the smallest",
			"%%MatrixMarket matrix array real general\n1 4\n0e-999\n-0.00e9\n5e-324\n-4.9D-324\n", 1, 4,
			[]float64{0, 0, 5e-324, -5e-324}},
		{"layout of the text", "%%matrixmarket MATRIX Array REAL General\r\n% a comment\r\n\r\n  1\t2 \r\n%\r\n " +
			"8\r\n\r\n9", 1, 2, []float64{8, 9}},
		{"no rows", "%%MatrixMarket matrix array real general\n0 4000000000000000000\n", 0, 4000000000000000000,
			nil},
		{"no entries", "%%MatrixMarket matrix coordinate real general\n1 2 0", 1, 2, []float64{0, 0}},
		{"unsigned", "%%MatrixMarket matrix array unsigned-integer symmetric\n2 2\n18446744073709551615\n0\n+7\n",
			2, 2, []float64{0x1p64, 0, 0, 7}},
		{"real Hermitian", "%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 5\n", 2, 2,
			[]float64{0, 5, 5, 0}},
		{"integer Hermitian", "%%MatrixMarket matrix array integer hermitian\n2 2\n1\n2\n3\n", 2, 2,
			[]float64{1, 2, 2, 3}},
		{"pattern Hermitian", "%%MatrixMarket matrix coordinate pattern hermitian\n2 2 1\n2 1\n", 2, 2,
			[]float64{0, 1, 1, 0}},
		{"plus signs", "%%MatrixMarket matrix coordinate real general\n+1 +2 +1\n+1 +2 +3\n", 1, 2,
			[]float64{0, 3}},
		{"byte-order mark", "\ufeff%%MatrixMarket matrix array real general\n1 1\n3\n", 1, 1, []float64{3}},
		{"CR", "%%MatrixMarket matrix array real general\r% c\r\r1 2\r3\r4", 1, 2, []float64{3, 4}},
		{"CR at the end", "%%MatrixMarket matrix array real general\r1 1\r3\r", 1, 1, []float64{3}},
		{"all ends of lines", "%%MatrixMarket matrix array real general\r1 3\r\n3\n4\r5", 1, 3, []float64{3, 4, 5}},
		{"skew of order 1", "%%MatrixMarket matrix array real skew-symmetric\n1 1\n", 1, 1, []float64{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := newFile("a.mtx", strings.NewReader(c.text), int64(len(c.text)))
			if err != nil {
				t.Fatal(err)
			}
			x := slices.Repeat([]float64{untouched}, len(c.want))
			if err := f.ReadColumns(0, f.Cols, x, int(f.Rows)); err != nil {
				t.Fatal(err)
			}
			if f.Rows != c.rows || f.Cols != c.cols || !slices.Equal(x, c.want) {
				t.Errorf("%d×%d %v, expected %d×%d %v", f.Rows, f.Cols, x, c.rows, c.cols, c.want)
			}
		})
	}
}

func TestMarketErrors(t *testing.T) {
	array := func(text string) string { return "%%MatrixMarket matrix array real general\n" + text }
	list := func(text string) string { return "%%MatrixMarket matrix coordinate real general\n" + text }
	symmetric := func(text string) string { return "%%MatrixMarket matrix coordinate real symmetric\n" + text }
	skew := func(text string) string { return "%%MatrixMarket matrix coordinate real skew-symmetric\n" + text }
	for _, c := range []struct {
		name, text string
		line       int64
		want       string
	}{
		{"empty", "", 1, "a Matrix Market file begins with %%MatrixMarket"},
		{"no banner", "1 1\n3\n", 1, "begins with %%MatrixMarket"},
		{"short banner", "%%MatrixMarket matrix array\n1 1\n3\n", 1,
			"expected %%MatrixMarket matrix FORMAT FIELD SYMMETRY"},
		{"vector", "%%MatrixMarket vector array real general\n1\n3\n", 1, "expected %%MatrixMarket matrix"},
		{"format", "%%MatrixMarket matrix dense real general\n1 1\n3\n", 1,
			`format "dense" is neither array nor coordinate`},
		{"complex", "%%MatrixMarket matrix array complex general\n1 1\n3 0\n", 1,
			"complex numbers; only real matrices are decomposed"},
		{"hermitian", "%%MatrixMarket matrix array complex hermitian\n1 1\n3 0\n", 1, "complex numbers"},
		{"real Hermitian, upper", "%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n1 2 3\n", 3,
			"entry (1,2) is above the diagonal"},
		{"unsigned skew", "%%MatrixMarket matrix array unsigned-integer skew-symmetric\n1 1\n", 1,
			"field unsigned-integer cannot be skew-symmetric"},
		{"UTF-16", "\xff\xfe%\x00%\x00M\x00", 1, "the text is UTF-16"},
		{"UTF-16, big", "\xfe\xff\x00%\x00%\x00M", 1, "the text is UTF-16"},
		{"UTF-16 without a mark", "%\x00%\x00M\x00", 1, "a byte 0, which no text has"},
		{"field", "%%MatrixMarket matrix array double general\n1 1\n3\n", 1,
			`field "double" is not real, integer, unsigned-integer or pattern`},
		{"symmetry", "%%MatrixMarket matrix array real sym\n1 1\n3\n", 1, `symmetry "sym" is not`},
		{"array pattern", "%%MatrixMarket matrix array pattern general\n1 1\n3\n", 1, "an array has no pattern"},
		{"skew pattern", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", 1,
			"cannot be skew-symmetric"},
		{"no sizes", array("% nothing\n"), 2, "the file ends before the line with the numbers of rows, columns"},
		{"header with two numbers", list("2 2\n1 1 1\n"), 2,
			`expected 3 numbers (rows, columns, entries), found "2 2"`},
		{"header with three numbers", array("2 2 4\n1\n"), 2, `expected 2 numbers (rows, columns), found "2 2 4"`},
		{"negative size", array("\n2 -2\n"), 3, `number of columns is "-2", expected an integer ≥ 0`},
		{"size is not an integer", array("2.0 2\n"), 2, `number of rows is "2.0"`},
		{"size overflows", array("2 99999999999999999999\n"), 2,
			`number of columns is "99999999999999999999", which is too large`},
		{"rows overflow", list("19223372036854775808 2 1\n"), 2,
			`number of rows is "19223372036854775808", which is too large`},
		{"2^63 entries", list("1 1 9223372036854775808\n"), 2,
			`number of entries is "9223372036854775808", which is too large`},
		{"2^63-1 entries", list("1 1 9223372036854775807\n"), 2,
			"9223372036854775807 entries are announced, but only 0 bytes follow"},
		{"two signs", array("++1 1\n3\n"), 2, `number of rows is "++1", expected an integer`},
		{"a sign alone", array("+ 1\n3\n"), 2, `number of rows is "+", expected an integer`},
		{"underscore in a size", array("1_0 1\n3\n"), 2, `number of rows is "1_0", expected an integer`},
		{"NUL in the sizes", array("1\x001\n3\n"), 2, "a byte 0, which no text has"},
		{"matrix overflows", list("4000000000 4000000000 1\n1 1 1\n"), 2,
			"a 4000000000×4000000000 matrix is too large"},
		{"not square", symmetric("2 3 0\n"), 2, "a symmetric matrix must be square, not 2×3"},
		{"lying array", array("1000000 1000000\n1\n"), 2,
			"1000000000000 entries are announced, but only 2 bytes follow"},
		{"lying list", list("9 9 3000000000000\n1 1 1\n"), 2,
			"3000000000000 entries are announced, but only 6 bytes follow"},
		{"too few, array", array("2 2\n1.5\n2.5\n3.5\n"), 5, "the file ends after 3 entries; line 2 announces 4"},
		{"too few, list", list("% c\n2 2 2\n1 1 1.25\n"), 4, "the file ends after 1 entries; line 3 announces 2"},
		{"too many, array", array("1 2\n1\n2\n\n3\n"), 6, "more than the 2 entries that line 2 announces"},
		{"too many, list", list("2 2 1\n1 1 1\n% c\n2 2 1\n"), 5, "more than the 1 entries that line 2 announces"},
		{"too many, no rows", array("0 3\n1\n"), 3, "more than the 0 entries that line 2 announces"},
		{"too many, no columns", array("3 0\n\n% c\n1\n"), 5, "more than the 0 entries that line 2 announces"},
		{"too many, list without rows", list("0 3 0\n1 1 1\n"), 3, "more than the 0 entries that line 2"},
		{"an entry without rows", list("0 3 1\n1 1 1\n"), 3, `row "1" is not one of 1 to 0`},
		{"too many, order 0", skew("0 0 0\n1 1 1\n"), 3, "more than the 0 entries that line 2 announces"},
		{"two on a line", array("1 2\n1 2\n"), 3, `expected an entry (value), found "1 2"`},
		{"no value", list("2 2 1\n1 1\n"), 3, `expected an entry (row, column, value), found "1 1"`},
		{"value in a pattern", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n", 3,
			"expected an entry (row, column), found"},
		{"five fields", list("2 2 1\n1 1 1 1 1\n"), 3, "expected an entry (row, column, value), found"},
		{"row 0", list("2 2 1\n0 1 1\n"), 3, "entry (0,1): rows and columns are counted from 1"},
		{"row beyond", list("2 3 1\n3 1 1\n"), 3, `row "3" is not one of 1 to 2`},
		{"column beyond", list("2 3 1\n2 4 1\n"), 3, `column "4" is not one of 1 to 3`},
		{"negative column", list("2 3 1\n2 -1 1\n"), 3, `column "-1" is not one of 1 to 3`},
		{"index overflows", list("2 3 1\n2 19223372036854775808 1\n"), 3,
			`column "19223372036854775808" is not one of 1 to 3`},
		{"no value but a word", list("2 2 1\n1 1 one\n"), 3, `value "one" is not a decimal number`},
		{"underscore", array("1 1\n1_000\n"), 3, `value "1_000" is not a decimal number`},
		{"hexadecimal", array("1 1\n0x1p3\n"), 3, `value "0x1p3" is not a decimal number`},
		{"comma", array("1 1\n1,5\n"), 3, `value "1,5" is not a decimal number`},
		{"infinity", array("1 1\n-Inf\n"), 3, "-Inf at row 1, column 1"},
		{"NaN", list("2 3 1\n2 3 nan\n"), 3, "NaN at row 2, column 3"},
		{"NUL for a blank", list("2 2 1\n1 1\x003\n"), 3, "a byte 0, which no text has"},
		{"bell for a blank", list("2 2 1\n1 1\a3\n"), 3, `expected an entry (row, column, value), found "1 1\a3"`},
		{"space of Unicode", array("1 1\n1\u00a0\n"), 3, `is not a decimal number`},
		{"minus", "%%MatrixMarket matrix array unsigned-integer general\n1 1\n-4\n", 3,
			`value "-4" in a file of unsigned integers`},
		{"value overflows", array("1 1\n1e999\n"), 3, `value "1e999" does not fit in a float64`},
		{"underflow", array("1 1\n1e-999\n"), 3,
			`value "1e-999" would become 0: float64 ends at 4.9e-324; write 0, or multiply`},
		{"underflow of Fortran", array("1 1\n-.5D-400\n"), 3, `value "-.5D-400" would become 0`},
		{"underflow without a letter", list("1 1 1\n1 1 1.5-400\n"), 3, `value "1.5-400" would become 0`},
		{"twice", list("2 2 3\n1 1 5\n% c\n2 1 7\n1 1 -1\n"), 6,
			"entry (1,1) is in line 3 already; programs differ in what two entries"},
		{"the same twice", list("2 2 2\n2 2 5\n\n2 2 5\n"), 5, "entry (2,2) is in line 3 already"},
		{"zero twice", list("2 2 2\n1 2 0\n1 2 0\n"), 4, "entry (1,2) is in line 3 already"},
		{"twice, symmetric", symmetric("2 2 2\n2 1 5\n2 1 5\n"), 4, "entry (2,1) is in line 3 already"},
		{"twice, skew", skew("2 2 2\n2 1 5\n2 1 5\n"), 4, "entry (2,1) is in line 3 already"},
		{"twice, pattern", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n2 1\n2 1\n", 4,
			"entry (2,1) is in line 3 already"},
		{"fraction", "%%MatrixMarket matrix array integer general\n1 1\n1.5\n", 3,
			`value "1.5" in a file of integers`},
		{"both triangles", symmetric("2 2 2\n2 1 1\n1 2 1\n"), 4,
			"entry (1,2) is above the diagonal of a symmetric matrix"},
		{"diagonal", skew("2 2 1\n1 1 0\n"), 3, "entry (1,1) is not below the diagonal of a skew-symmetric matrix"},
		{"long line", array("1 1\n" + strings.Repeat("1", maxLine) + "\n"), 3, "longer than 65536 bytes"},
		{"long banner", "%%MatrixMarket" + strings.Repeat(" ", maxLine), 1, "longer than 65536 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := newFile("dir/a.mtx", strings.NewReader(c.text), int64(len(c.text)))
			if err == nil {
				err = f.ReadColumns(0, f.Cols, make([]float64, f.Rows*f.Cols), int(f.Rows))
			}
			checkError(t, err, "dir/a.mtx", c.line, c.want)
		})
	}
}

// TestMarketLongComment: a comment of 1000 characters and a number of 400 digits are nothing special.
func TestMarketLongComment(t *testing.T) {
	text := "%%MatrixMarket matrix array real general\n%" + strings.Repeat("-", 1000) + "\n1 1\n0." +
		strings.Repeat("0", 400) + "1e401\n"
	if x := readAll(t, "a.mtx", []byte(text)); x[0] != 1 {
		t.Errorf("%v, expected 1", x[0])
	}
}

// TestMarketElsewhere: a NaN outside the part is somebody else's, and so is an entry that is there twice.
func TestMarketElsewhere(t *testing.T) {
	for _, text := range []string{
		"%%MatrixMarket matrix array real general\n1 2\nnan\n4\n",
		"%%MatrixMarket matrix coordinate real general\n1 2 3\n1 1 5\n1 1 5\n1 2 3\n",
	} {
		f, err := newFile("a.mtx", strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.ReadColumns(1, 2, make([]float64, 1), 1); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMarketTwiceInParts: whichever part has the place finds the second entry, in a symmetric matrix by
// either of its places.
func TestMarketTwiceInParts(t *testing.T) {
	text := "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 1 5\n2 2 1\n3 1 4\n"
	f, err := newFile("a.mtx", strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		row, column int64
		twice       bool
	}{{1, 0, true}, {0, 0, false}, {0, 1, false}, {1, 1, false}, {0, 2, true}, {1, 2, false}} {
		err := f.ReadPart(c.row, c.row+2, c.column, c.column+1, make([]float64, 2), 2)
		if !c.twice && err != nil {
			t.Errorf("two rows from row %d, column %d: %v", c.row, c.column, err)
		} else if c.twice {
			checkError(t, err, "a.mtx", 5, "entry (3,1) is in line 3 already")
		}
	}
}

// marketText writes the twin as a Matrix Market file; a coordinate file has its entries in reverse order.
func marketText(want twin, coordinate bool, symmetry string) string {
	var values, entries []string
	for j := range want.cols {
		for i := range want.rows {
			if symmetry == "symmetric" && i < j || symmetry == "skew-symmetric" && i <= j {
				continue
			}
			x := want.at(i, j)
			values = append(values, fmt.Sprintf("%g\n", x))
			entries = append(entries, fmt.Sprintf("%d\t%d   %g\r\n%% comment\n", i+1, j+1, x))
		}
	}
	slices.Reverse(entries)
	if coordinate {
		return fmt.Sprintf("%%%%MatrixMarket matrix coordinate real %s\n%d %d %d\n%s",
			symmetry, want.rows, want.cols, len(entries), strings.Join(entries, ""))
	}
	return fmt.Sprintf("%%%%MatrixMarket matrix array real %s\n%d %d\n%s", symmetry, want.rows, want.cols,
		strings.Join(values, ""))
}

func TestMarketAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		symmetry := rapid.SampledFrom([]string{"general", "symmetric", "skew-symmetric"}).Draw(t, "symmetry")
		rows := rapid.IntRange(0, 12).Draw(t, "rows")
		cols := rows
		if symmetry == "general" {
			cols = rapid.IntRange(0, 12).Draw(t, "columns")
		}
		want := newTwin(rows, cols, func(i, j int) float64 {
			switch symmetry {
			case "symmetric":
				return float64((i+j)*(i-j)*(i-j)) + 0.5
			case "skew-symmetric":
				return float64((i + j + 1) * (i - j))
			}
			return float64(i) - 100.25*float64(j)
		})
		text := marketText(want, rapid.Bool().Draw(t, "coordinate"), symmetry)
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end of a line")
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", end)
		f, err := newFile("a.mtx", bytes.NewReader([]byte(text)), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		checkReaders(t, f, want)
	})
}
