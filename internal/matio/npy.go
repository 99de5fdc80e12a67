package matio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

const (
	npyMagic = "\x93NUMPY"
	// maxNpyHeader is the length above which a header is not believed. numpy's own limit is 10,000.
	maxNpyHeader = 1 << 20
)

// npyHeader is what the header of a .npy file says.
type npyHeader struct {
	descr   string
	fortran bool
	shape   []int64
	data    int64 // bytes before the data
}

// openNpy makes f the matrix of the .npy file r.
func (f *File) openNpy(r io.ReaderAt) error {
	h, err := readNpyHeader(f.path, r, f.size)
	if err != nil {
		return err
	}
	var d dtype
	if d, err = parseDtype(h.descr); err != nil {
		return &Error{Path: f.path, What: err.Error()}
	}
	if f.oneDimension = len(h.shape) == 1; f.oneDimension {
		h.shape = append(h.shape, 1)
	}
	if len(h.shape) != 2 {
		const text = "an array of %d dimensions; a matrix has 2: reshape it in NumPy, and save it again"
		return &Error{Path: f.path, What: fmt.Sprintf(text, len(h.shape))}
	}
	body := flat{r: r, path: f.path, base: h.data, length: h.shape[1], fortran: h.fortran, dtype: d}
	if h.fortran {
		body.length = h.shape[0]
	}
	return f.openFlat(body, h.shape[0], h.shape[1])
}

// readNpyHeader reads the header of r, which has size bytes: the magic string, two bytes of
// version, the length of the text, 2 bytes in version 1 and 4 bytes in versions 2 and 3, and the
// text, a Python dictionary.
func readNpyHeader(path string, r io.ReaderAt, size int64) (npyHeader, error) {
	prefix := make([]byte, 12)
	if n, err := r.ReadAt(prefix, 0); err != nil && err != io.EOF {
		return npyHeader{}, fmt.Errorf("read %s: %w", path, err)
	} else if !bytes.HasPrefix(prefix, []byte(npyMagic)[:min(n, len(npyMagic))]) {
		return npyHeader{}, &Error{Path: path,
			What: "not a .npy file: it does not begin with \\x93NUMPY; write it by np.save"}
	} else if n < len(prefix) {
		return npyHeader{}, wrongLength(path, int64(len(prefix)), size)
	}
	start, length := int64(12), int64(binary.LittleEndian.Uint32(prefix[8:]))
	switch prefix[6] {
	case 1:
		start, length = 10, int64(binary.LittleEndian.Uint16(prefix[8:]))
	case 2, 3:
	default:
		return npyHeader{}, &Error{Path: path, What: fmt.Sprintf("version %d.%d of .npy is unknown", prefix[6],
			prefix[7])}
	}
	if length > maxNpyHeader {
		return npyHeader{}, &Error{Path: path, What: fmt.Sprintf("a header of %d bytes is not believed", length)}
	}
	if start+length > size {
		return npyHeader{}, wrongLength(path, start+length, size)
	}
	text := make([]byte, length)
	if _, err := r.ReadAt(text, start); err != nil && err != io.EOF {
		return npyHeader{}, fmt.Errorf("read %s: %w", path, err)
	}
	h, err := parseNpyHeader(string(text))
	if err != nil {
		return h, &Error{Path: path, What: fmt.Sprintf("malformed .npy header: %v", err)}
	}
	h.data = start + length
	return h, nil
}

// formatNpyHeader returns the bytes before the data of a .npy file of little-endian float64 numbers, as numpy
// writes them: version 1.0, padded so that the data begins at a multiple of 64 bytes.
func formatNpyHeader(fortran bool, shape string) []byte {
	order := map[bool]string{false: "False", true: "True"}[fortran]
	text := fmt.Sprintf("{'descr': '<f8', 'fortran_order': %s, 'shape': %s, }", order, shape)
	const start = len(npyMagic) + 4
	text += strings.Repeat(" ", 63-(start+len(text))%64) + "\n"
	header := binary.LittleEndian.AppendUint16([]byte(npyMagic+"\x01\x00"), uint16(len(text)))
	return append(header, text...)
}
