package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unsafe"
)

// slack is the size of the window beyond that of a rectangle: packed chunks may be longer than they are.
const slack = 1 << 16

// chunk is a packed chunk in the window.
type chunk struct {
	Size int64  // bytes; 0: it was never written
	Skip uint32 // a bit for each filter that has not been used
}

// eachChunk calls f for the places of the chunks of a rectangle that begins where a chunk does.
func (s Dataset) eachChunk(first, count []uint64, f func(at []uint64) error) error {
	if len(s.Chunk) == 1 {
		for i := uint64(0); i < count[0]; i += s.Chunk[0] {
			if err := f([]uint64{first[0] + i}); err != nil {
				return err
			}
		}
		return nil
	}
	for i := uint64(0); i < count[0]; i += s.Chunk[0] {
		for j := uint64(0); j < count[1]; j += s.Chunk[1] {
			if err := f([]uint64{first[0] + i, first[1] + j}); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunks puts the chunks of a rectangle into the window, packed, one after the other.
func (s *server) chunks(first, count []uint64) (all []chunk, err error) {
	if s.open == nil || !s.set.Known || len(first) != len(s.set.Dims) || len(count) != len(first) {
		return nil, errors.New("a request that does not fit")
	}
	var h holder
	defer h.release()
	set, _, err := s.open.object(&h, s.set.Name)
	if err == nil {
		err = s.share()
	}
	if err != nil {
		return nil, err
	}
	used := int64(0)
	return all, s.set.eachChunk(first, count, func(at []uint64) error {
		var c chunk
		if _, err := s.library.status("H5Dget_chunk_storage_size", set, uintptr(unsafe.Pointer(&at[0])),
			uintptr(unsafe.Pointer(&c.Size))); err != nil {
			c.Size = 0 // the library says so of what was never written, too
		}
		if c.Size < 0 || c.Size > int64(len(s.window))-used {
			return fmt.Errorf("damaged: a chunk of %d bytes; write it again", c.Size)
		}
		if c.Size == 0 {
			if err := s.absent(set, at); err != nil {
				return err
			}
		} else if err := s.packed(set, at, &c, s.window[used:][:c.Size]); err != nil {
			return err
		}
		used += c.Size
		all = append(all, c)
		return nil
	})
}

// packed reads the bytes of a chunk. If a file says that there are fewer, the library reads these alone, and
// leaves the last byte of raw as it was.
func (s *server) packed(set uintptr, at []uint64, c *chunk, raw []byte) error {
	last := &raw[len(raw)-1]
	for _, mark := range []byte{0x5A, 0xA5} {
		*last = mark
		if _, err := s.library.status("H5Dread_chunk", set, 0, uintptr(unsafe.Pointer(&at[0])),
			uintptr(unsafe.Pointer(&c.Skip)), uintptr(unsafe.Pointer(&raw[0]))); err != nil {
			return err
		}
		if *last != mark {
			return nil
		}
	}
	return errors.New("damaged: a chunk without all of its numbers; write it again")
}

// mostDoubted chunks of no bytes are looked at: each takes a walk through all chunks.
const mostDoubted = 1000

// absent makes sure that a chunk of no bytes was never written. Otherwise the library would read beyond it.
func (s *server) absent(set uintptr, at []uint64) error {
	const routine = "H5Dget_chunk_info_by_coord"
	if s.doubted++; s.doubted > mostDoubted || s.library.routine(routine) == 0 {
		return nil
	}
	var skip uint32
	var address, size uint64
	_, err := s.library.status(routine, set, uintptr(unsafe.Pointer(&at[0])), uintptr(unsafe.Pointer(&skip)),
		uintptr(unsafe.Pointer(&address)), uintptr(unsafe.Pointer(&size)))
	if err == nil && address != math.MaxUint64 {
		err = errors.New("damaged: a chunk without numbers; write it again")
	}
	return err
}

// readChunks is Read without the filters of the library.
func (f *File) readChunks(first, count []uint64, dst []byte) error {
	f.mu.Lock()
	a, err := f.child.ask(request{Op: "chunks", First: first, Count: count})
	used := int64(0)
	for _, c := range a.Chunks {
		used += c.Size
	}
	if err == nil && (used < 0 || used > int64(len(f.window))) {
		err = errors.New("chunks that do not fit")
	}
	var raw []byte
	if err == nil {
		raw = bytes.Clone(f.window[:used])
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	p := rectangle{f.Dataset, first, count, dst}
	k := 0
	return f.eachChunk(first, count, func(at []uint64) error {
		if k == len(a.Chunks) {
			return errors.New("chunks that are missing")
		}
		c := a.Chunks[k]
		k++
		if c.Size == 0 {
			return f.unwritten(p, at)
		}
		numbers, err := f.unpack(raw[:c.Size], c.Skip)
		raw = raw[c.Size:]
		if err == nil {
			p.put(at, numbers)
		}
		return err
	})
}

// unwritten fills in what a chunk has that was never written.
func (f *File) unwritten(p rectangle, at []uint64) error {
	count := make([]uint64, len(at))
	bytes := f.size()
	for k := range at {
		count[k] = min(f.Chunk[k], f.Dims[k]-at[k])
		bytes *= int64(count[k])
	}
	numbers := make([]byte, bytes)
	if err := f.readPlain(at, count, numbers); err != nil {
		return err
	}
	p.Chunk = count
	p.put(at, numbers)
	return nil
}

// rectangle is a part of a data set in memory, row by row.
type rectangle struct {
	Dataset
	first, count []uint64
	dst          []byte
}

// put puts the numbers of a whole chunk to their place in the rectangle.
func (p rectangle) put(at []uint64, numbers []byte) {
	size := uint64(p.size())
	row, column, rows, columns := at[0]-p.first[0], uint64(0), p.Chunk[0], uint64(1)
	width := uint64(1)
	if len(at) == 2 {
		column, columns, width = at[1]-p.first[1], p.Chunk[1], p.count[1]
	}
	here := min(columns, width-column) * size
	for i := range min(rows, p.count[0]-row) {
		copy(p.dst[((row+i)*width+column)*size:][:here], numbers[i*columns*size:])
	}
}

// unpack undoes the filters of a chunk.
func (s Dataset) unpack(b []byte, skip uint32) (_ []byte, err error) {
	whole := int(elements(s.Chunk) * s.size())
	for k := len(s.Filters) - 1; k >= 0; k-- {
		if skip>>k&1 == 1 {
			continue
		}
		switch s.Filters[k] {
		case deflate:
			b, err = inflate(b, whole+4*len(s.Filters))
		case shuffle:
			b = unshuffled(b, int(s.size()))
		case checksum:
			b, err = checked(b)
		}
		if err != nil {
			return nil, fmt.Errorf("damaged: %w; write it again", err)
		}
	}
	if len(b) != whole {
		return nil, fmt.Errorf("damaged: a chunk of %d bytes instead of %d; write it again", len(b), whole)
	}
	return b, nil
}

// inflate unpacks at most so many bytes.
func inflate(b []byte, most int) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if len(b) > most/1100 { // deflate makes no more of it
		out.Grow(most + bytes.MinRead)
	}
	if _, err = io.Copy(&out, io.LimitReader(r, int64(most)+1)); err != nil {
		return nil, err
	}
	return out.Bytes(), r.Close()
}

// unshuffled puts the bytes of numbers together that were sorted by their place in a number.
func unshuffled(b []byte, size int) []byte {
	n := len(b) / size
	if size == 1 || n <= 1 {
		return b
	}
	out := make([]byte, len(b))
	for k := range size {
		from := b[k*n:][:n]
		for i, x := range from {
			out[i*size+k] = x
		}
	}
	copy(out[n*size:], b[n*size:]) // no whole number
	return out
}

// checked takes the checksum off a chunk, which must be right.
func checked(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, errors.New("no checksum")
	}
	b, told := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if sum := fletcher32(b); told != sum && told != sum>>8&0xFF00FF|sum&0xFF00FF<<8 { // as before HDF5 1.6.3
		return nil, errors.New("a wrong checksum")
	}
	return b, nil
}

// fletcher32 is the checksum of HDF5: Fletcher's, of words of two bytes, the high one first.
func fletcher32(b []byte) uint32 {
	const most = 360 // words whose sums need no folding
	fold := func(x uint32) uint32 { return x&0xFFFF + x>>16 }
	var one, two uint32
	for len(b) > 1 {
		n := min(len(b)/2, most)
		for k := range n {
			one += uint32(b[2*k])<<8 | uint32(b[2*k+1])
			two += one
		}
		b, one, two = b[2*n:], fold(one), fold(two)
	}
	if len(b) == 1 {
		one += uint32(b[0]) << 8
		two = fold(two + one)
		one = fold(one)
	}
	return fold(two)<<16 | fold(one)
}
