package matio

import (
	"errors"
	"fmt"
	"io"
)

const (
	// bufferLen numbers (1 MiB) are gathered before they are transposed: about an L2 cache.
	bufferLen = 1 << 17
	// maxGap is the largest gap between segments, in bytes, that is read rather than jumped over:
	// a system call costs about as much as copying this many bytes from the page cache.
	maxGap = 8 << 10
	// tileLines segments at least are in the buffer at once, so that what is written to a column of
	// the destination fills cache lines; tileLen numbers of each make a tile, whose destination pages
	// fit in the TLB.
	tileLines, tileLen = 32, 32
)

// flat is a file of lines of equal length, numbers of one type, from byte base on. Lines are the columns
// of the matrix in Fortran order, otherwise its rows.
type flat struct {
	r       io.ReaderAt
	path    string
	base    int64
	length  int64 // numbers in a line
	fortran bool
	dtype   dtype
}

// segments are the numbers q0 ≤ q < q0+n of some lines from line l0 on, with their place in memory:
// number q of line l is dst[(l−l0)·ls + (q−q0)·qs].
type segments struct {
	first  int64 // position in the file of number q0 of line l0, in numbers
	lines  int
	n      int
	dst    []float64
	ls, qs int
}

// read reads p and tells whether all its numbers are finite.
func (f *flat) read(p part) (bool, error) {
	rows, cols := int(p.i1-p.i0), int(p.j1-p.j0)
	s := segments{p.i0*f.length + p.j0, rows, cols, p.dst, p.rs, p.cs}
	if f.fortran {
		s = segments{p.j0*f.length + p.i0, cols, rows, p.dst, p.cs, p.rs}
	}
	if rows == 0 || cols == 0 {
		return true, nil
	}
	if s.qs == 1 && s.ls == s.n && f.length == int64(s.n) { // one long line
		s.n, s.lines = s.n*s.lines, 1
	}
	gap := (f.length - int64(s.n)) * int64(f.dtype.size)
	through := s.lines > 1 && gap <= maxGap && tileLines*f.length <= bufferLen
	switch {
	case through:
		return f.readThrough(s)
	case s.qs == 1:
		return f.readDirect(s)
	default:
		return f.readGathered(s)
	}
}

// fill reads len(x) numbers, from number first of the file on.
func (f *flat) fill(x []float64, first int64) error {
	size := f.dtype.size
	at := f.base + first*int64(size)
	if err := readFull(f.r, f.path, bytesOf(x)[len(x)*(8-size):], at); err != nil {
		return err
	}
	f.dtype.decode(x)
	return nil
}

// readFull fills raw from byte at of r on, which has the name path.
func readFull(r io.ReaderAt, path string, raw []byte, at int64) error {
	n, err := r.ReadAt(raw, at)
	switch {
	case n == len(raw):
		return nil
	case errors.Is(err, io.EOF): // it was long enough when it was opened
		return wrongLength(path, at+int64(len(raw)), at+int64(n))
	default:
		return fmt.Errorf("read %s at byte %d: %w", path, at, err)
	}
}

// readDirect reads segments that are contiguous in memory, in pieces that stay in the cache
// while they are converted and checked.
func (f *flat) readDirect(s segments) (bool, error) {
	ok := true
	for l := range s.lines {
		for q := 0; q < s.n; q += bufferLen {
			x := s.dst[l*s.ls+q:][:min(bufferLen, s.n-q)]
			if err := f.fill(x, s.first+int64(l)*f.length+int64(q)); err != nil {
				return false, err
			}
			ok = ok && finite(x)
		}
	}
	return ok, nil
}

// readThrough reads many lines at once, gaps included.
func (f *flat) readThrough(s segments) (bool, error) {
	ok := true
	length := int(f.length)
	group := min(s.lines, bufferLen/length)
	buffer := make([]float64, group*length)
	for l := 0; l < s.lines; l += group {
		lines := min(group, s.lines-l)
		if err := f.fill(buffer[:(lines-1)*length+s.n], s.first+int64(l)*f.length); err != nil {
			return false, err
		}
		ok = s.scatter(l, 0, buffer, length, lines, s.n) && ok
	}
	return ok, nil
}

// readGathered reads each segment by itself, or in pieces if fewer than tileLines of them fit in the buffer.
func (f *flat) readGathered(s segments) (bool, error) {
	const pad = 8 // keeps equal positions of the lines in different cache sets
	ok := true
	width := min(s.n, bufferLen/tileLines-pad)
	pitch := width + pad
	group := min(s.lines, bufferLen/pitch)
	buffer := make([]float64, group*pitch)
	for l := 0; l < s.lines; l += group {
		lines := min(group, s.lines-l)
		for q := 0; q < s.n; q += width {
			n := min(width, s.n-q)
			for k := range lines {
				if err := f.fill(buffer[k*pitch:][:n], s.first+int64(l+k)*f.length+int64(q)); err != nil {
					return false, err
				}
			}
			ok = s.scatter(l, q, buffer, pitch, lines, n) && ok
		}
	}
	return ok, nil
}

// scatter copies n numbers of each of lines lines, which begin at multiples of pitch in buffer, to their
// place in memory from line l and number q of the segments on, and tells whether all are finite.
func (s *segments) scatter(l, q int, buffer []float64, pitch, lines, n int) bool {
	ok := true
	for k := range lines {
		ok = ok && finite(buffer[k*pitch:][:n])
	}
	dst := s.dst[l*s.ls+q*s.qs:]
	if s.qs == 1 {
		for k := range lines {
			copy(dst[k*s.ls:][:n], buffer[k*pitch:])
		}
		return ok
	}
	for q := 0; q < n; q += tileLen {
		transpose(dst[q*s.qs:], s.qs, buffer[q:], pitch, lines, min(tileLen, n-q))
	}
	return ok
}

// transpose copies src, lines×n with row stride pitch, to dst, whose columns of length lines have stride ld.
// Eight lines at a time fill a cache line of dst.
func transpose(dst []float64, ld int, src []float64, pitch, lines, n int) {
	k := 0
	for ; k+8 <= lines; k += 8 {
		x := src[k*pitch:]
		a, b, c, d := x[:n], x[pitch:][:n], x[2*pitch:][:n], x[3*pitch:][:n]
		e, f, g, h := x[4*pitch:][:n], x[5*pitch:][:n], x[6*pitch:][:n], x[7*pitch:][:n]
		for q := range a {
			y := (*[8]float64)(dst[q*ld+k:])
			y[0], y[1], y[2], y[3] = a[q], b[q], c[q], d[q]
			y[4], y[5], y[6], y[7] = e[q], f[q], g[q], h[q]
		}
	}
	for ; k < lines; k++ {
		for q, x := range src[k*pitch:][:n] {
			dst[q*ld+k] = x
		}
	}
}
