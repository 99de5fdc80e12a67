package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jmpi/dist"
)

// Columns and rows that are out of range are told, in the log and in info.json, as those of the matrix in the
// file. Of others nothing is said.
func TestOutOfRangeIsTold(t *testing.T) {
	hilbert := func(i, j int) float64 { return 1 / float64(i+j+1) }
	scaled := func(m, n, count int, decades float64, rows bool) matrix {
		return build(m, n, func(i, j int) float64 {
			if rows && i >= m-count || !rows && j >= n-count {
				return hilbert(i, j) * math.Pow(10, -decades)
			}
			return hilbert(i, j)
		})
	}
	for _, c := range []struct {
		name string
		a    matrix
		want dist.OutOfRange
	}{
		{"columns within the range", scaled(9, 6, 2, 284, false), dist.OutOfRange{}},
		{"columns", scaled(9, 6, 2, 290, false), dist.OutOfRange{Columns: 2}},
		{"columns of a tall matrix", scaled(90, 6, 2, 290, false), dist.OutOfRange{Columns: 2}},
		{"rows of a wide matrix", scaled(6, 9, 2, 290, true), dist.OutOfRange{Rows: 2}},
		{"rows", scaled(6, 6, 3, 290, true), dist.OutOfRange{Rows: 3}},
		{"rows of a tall matrix, which has more", scaled(9, 6, 3, 290, true), dist.OutOfRange{}},
		{"diagonal, over 600 decades", build(3, 3, func(i, j int) float64 {
			if i != j {
				return 0
			}
			return math.Pow(10, 300-300*float64(i))
		}), dist.OutOfRange{Columns: 2, Rows: 2}},
	} {
		for _, ranks := range []int{1, 2} {
			dir := t.TempDir()
			data := c.a.encode(8, binary.LittleEndian, false)
			name := fmt.Sprintf("a.%dx%d.colmajor.f64", c.a.m, c.a.n)
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
			p := startProgram(t, dir, ranks, "svd "+name+" -o x")
			if err := p.command.Wait(); err != nil {
				t.Fatalf("%s: %v\n%s", c.name, err, p.stderr.String())
			}
			var info struct {
				OutOfRange dist.OutOfRange `json:"out_of_range"`
			}
			text, err := os.ReadFile(filepath.Join(dir, "x", "info.json"))
			if err == nil {
				err = json.Unmarshal(text, &info)
			}
			if err != nil || info.OutOfRange != c.want {
				t.Errorf("%s: info.json has %+v, not %+v (%v)", c.name, info.OutOfRange, c.want, err)
			}
			warned := strings.Count(p.stderr.String(), "smaller than 1e-286 times the largest")
			if told := c.want != (dist.OutOfRange{}); warned > 1 || (warned == 1) != told {
				t.Errorf("%s: %d warnings:\n%s", c.name, warned, p.stderr.String())
			}
			if told := strings.Contains(string(text), "out_of_range"); told != (warned == 1) {
				t.Errorf("%s: out_of_range in info.json: %t", c.name, told)
			}
		}
	}
}
