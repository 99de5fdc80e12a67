package main

import (
	"math"
	"strconv"
	"strings"
)

// parseShape reads the value of --shape, "1000x500".
func parseShape(shape string) (rows, cols int64, err error) {
	m, n, ok := strings.Cut(shape, "x")
	rows, errRows := strconv.ParseInt(m, 10, 64)
	cols, errCols := strconv.ParseInt(n, 10, 64)
	if !ok || errRows != nil || errCols != nil || rows < 0 || cols < 0 {
		return 0, 0, usagef("--shape %s: expected rows and columns, as 1000x500", shape)
	}
	if rows > 0 && cols > math.MaxInt64/8/rows {
		return 0, 0, usagef("--shape %s: no file can hold it", shape)
	}
	return rows, cols, nil
}
