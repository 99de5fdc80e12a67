package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"slices"
	"testing"
)

// packedSet has chunks of 3×4 numbers of 2 bytes.
var packedSet = Dataset{Dims: []uint64{5, 7}, Dtype: "<i2", Chunk: []uint64{3, 4},
	Filters: []int{shuffle, deflate, checksum}}

// pack packs a chunk as the library does, but for the filters of skip.
func pack(t *testing.T, b []byte, skip uint32) []byte {
	t.Helper()
	if skip&1 == 0 {
		out := make([]byte, len(b))
		for k := range b {
			out[k%2*(len(b)/2)+k/2] = b[k]
		}
		b = out
	}
	if skip&2 == 0 {
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b = out.Bytes()
	}
	if skip&4 == 0 {
		b = binary.LittleEndian.AppendUint32(slices.Clone(b), fletcher32(b))
	}
	return b
}

// A chunk comes out as it went in, whichever filters were used. One of another length, and one with a wrong
// sum or a wrong byte, is an error.
func TestUnpack(t *testing.T) {
	numbers := make([]byte, 24)
	for k := range numbers {
		numbers[k] = byte(k * k)
	}
	for skip := range uint32(8) {
		got, err := packedSet.unpack(pack(t, numbers, skip), skip)
		if err != nil || !bytes.Equal(got, numbers) {
			t.Errorf("skip %b: %v, error %v", skip, got, err)
		}
		for _, wrong := range [][]byte{numbers[:22], append(slices.Clone(numbers), 0, 0), nil} {
			if got, err := packedSet.unpack(pack(t, wrong, skip), skip); err == nil {
				t.Errorf("skip %b: %d bytes unpack to %v", skip, len(wrong), got)
			}
		}
	}
	raw := pack(t, numbers, 0)
	for k := range raw {
		damaged := slices.Clone(raw)
		damaged[k] ^= 4
		if got, err := packedSet.unpack(damaged, 0); err == nil {
			t.Errorf("byte %d wrong: unpacks to %v", k, got)
		}
	}
}

// The sum is Fletcher's of words of two bytes, here worked out by its definition.
func TestFletcher32(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 8, 719, 720, 721, 5000} {
		b := bytes.Repeat([]byte{0xFF, 3, 0x80}, n/3+1)[:n]
		var one, two uint64
		for k := 0; k < n; k += 2 {
			word := uint64(b[k]) << 8
			if k+1 < n {
				word += uint64(b[k+1])
			}
			one = (one + word) % 0xFFFF
			two = (two + one) % 0xFFFF
		}
		sum := fletcher32(b)
		if got := [2]uint64{uint64(sum >> 16 % 0xFFFF), uint64(sum & 0xFFFF % 0xFFFF)}; got != [2]uint64{two, one} {
			t.Errorf("%d bytes: %v instead of %v", n, got, [2]uint64{two, one})
		}
	}
}

// The numbers of a chunk come to their place in a rectangle, also at its edges.
func TestPut(t *testing.T) {
	p := rectangle{packedSet, []uint64{0, 4}, []uint64{5, 3}, make([]byte, 5*3*2)}
	chunk := make([]byte, 24)
	for k := range chunk {
		chunk[k] = byte(k + 1)
	}
	p.put([]uint64{3, 4}, chunk) // rows 3 and 4, columns 4 to 6
	want := make([]byte, 30)
	copy(want[18:], []byte{1, 2, 3, 4, 5, 6})
	copy(want[24:], []byte{9, 10, 11, 12, 13, 14})
	if !bytes.Equal(p.dst, want) {
		t.Errorf("%v instead of %v", p.dst, want)
	}
}
