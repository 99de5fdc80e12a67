package matio

import (
	"bytes"
	"fmt"
	"io"
)

// maxLine is the longest line of a text file, in bytes. Matrix Market allows 1024.
const maxLine = 1 << 16

// lineReader reads a text line by line, and counts. A line ends with LF, with CR LF or with CR.
type lineReader struct {
	r             io.Reader
	path          string
	number, bytes int64 // lines and bytes that were read
	buffer        []byte
	from, to      int   // the bytes of the buffer that are not read yet
	err           error // of r, after these bytes
}

func newLineReader(r io.Reader, path string, number int64) *lineReader {
	return &lineReader{r: r, path: path, number: number, buffer: make([]byte, maxLine)}
}

// next returns the next line that is neither blank nor a comment, without blanks around it. It is
// valid until the next call. io.EOF: there is none.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.read()
		if len(line) > 0 && line[0] != '%' {
			return line, l.checkText(line)
		}
		if err != nil {
			return nil, err
		}
	}
}

// read returns the next line without blanks around it; with io.EOF if no line end follows.
func (l *lineReader) read() ([]byte, error) {
	for length := 0; ; {
		rest := l.buffer[l.from:l.to]
		for length < len(rest) && rest[length] != '\n' && rest[length] != '\r' {
			length++
		}
		// Whether a CR at the end of the buffer is half of a line end is not known yet.
		ended := length < len(rest) && (rest[length] == '\n' || length+1 < len(rest))
		switch {
		case ended && bytes.HasPrefix(rest[length:], []byte("\r\n")):
			return l.take(length, 2), nil
		case ended, length < len(rest) && l.err == io.EOF:
			return l.take(length, 1), nil
		case l.err == io.EOF:
			return l.take(length, 0), io.EOF
		case l.err != nil:
			return nil, fmt.Errorf("read %s: %w", l.path, l.err)
		case len(rest) == len(l.buffer):
			return nil, &Error{Path: l.path, Line: l.number + 1,
				What: fmt.Sprintf("longer than %d bytes; this is no Matrix Market file", maxLine)}
		}
		l.fill()
	}
}

// take returns the next bytes of the buffer as a line, and goes on behind its end.
func (l *lineReader) take(length, end int) []byte {
	line := l.buffer[l.from:][:length]
	l.from += length + end
	if length+end > 0 {
		l.number++
		l.bytes += int64(length + end)
	}
	return trimBlanks(line)
}

// fill reads on.
func (l *lineReader) fill() {
	l.to = copy(l.buffer, l.buffer[l.from:l.to])
	l.from = 0
	var n int
	n, l.err = l.r.Read(l.buffer[l.to:])
	l.to += n
}

// checkText tells whether the line is text.
func (l *lineReader) checkText(line []byte) error {
	if bytes.IndexByte(line, 0) < 0 {
		return nil
	}
	return &Error{Path: l.path, Line: max(1, l.number),
		What: "a byte 0, which no text has; save the file as ASCII or UTF-8, or write it again"}
}

// blank tells whether c separates the fields of a line.
func blank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// trimBlanks returns line without blanks around it.
func trimBlanks(line []byte) []byte {
	for len(line) > 0 && blank(line[0]) {
		line = line[1:]
	}
	for len(line) > 0 && blank(line[len(line)-1]) {
		line = line[:len(line)-1]
	}
	return line
}

// splitFields puts the fields of line, between blanks, into fields and returns their number; fields
// beyond the last place are not looked for.
func splitFields(line []byte, fields [][]byte) int {
	n := 0
	for k := 0; k < len(line) && n < len(fields); n++ {
		start := k
		for k < len(line) && !blank(line[k]) {
			k++
		}
		fields[n] = line[start:k]
		for k < len(line) && blank(line[k]) {
			k++
		}
	}
	return n
}
