package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"jmpi/dist/comm"
)

// Codec writes a value to a checkpoint, or reads it from there. The description of a value is one function
// that calls Fact, Vector and Array for its parts, in any order; it serves both.
type Codec struct {
	journal *Journal
	record  *record
	loading bool
	err     error
}

// Loading tells whether the value is read.
func (c *Codec) Loading() bool { return c.loading }

// Err returns the first error. After one the parts are left as they are.
func (c *Codec) Err() error { return c.err }

// Fail keeps an error, if it is the first.
func (c *Codec) Fail(err error) {
	if c.err == nil && err != nil {
		c.err = err
	}
}

// Fact is a small part: JSON in the manifest. That of rank 0 counts.
func Fact[T any](c *Codec, name string, x *T) {
	if c.err != nil {
		return
	}
	if !c.loading {
		raw, err := json.Marshal(*x)
		c.record.Facts[name], c.err = raw, err
		return
	}
	raw, ok := c.record.Facts[name]
	if !ok {
		c.err = fmt.Errorf("record %s has no %s", c.record.Path, name)
		return
	}
	c.err = json.Unmarshal(raw, x)
}

// Vector is a part that every rank has: numbers in a file. Rank 0 writes it.
func Vector[T int | float64](c *Codec, name string, x *[]T) {
	length := len(*x)
	Fact(c, name+".length", &length)
	if length < 0 || c.err != nil {
		return
	}
	raw := make([]byte, 0)
	if !c.loading {
		for _, e := range *x {
			raw = binary.LittleEndian.AppendUint64(raw, bits(e))
		}
	}
	shape := Shape{Count: 1, Bytes: 8 * int64(length), Shared: true}
	c.Array(name, shape, Array{
		Store: func(put Move) error { return put(0, raw) },
		Load: func(get Move) error {
			raw := make([]byte, 8*length)
			if err := get(0, raw); err != nil {
				return err
			}
			*x = make([]T, length)
			for i := range *x {
				(*x)[i] = unbits[T](binary.LittleEndian.Uint64(raw[8*i:]))
			}
			return nil
		},
	})
}

// bits returns a number as 64 bits.
func bits[T int | float64](x T) uint64 {
	if f, ok := any(x).(float64); ok {
		return math.Float64bits(f)
	}
	return uint64(int64(x))
}

// unbits is the inverse of bits.
func unbits[T int | float64](b uint64) T {
	var x T
	if _, ok := any(x).(float64); ok {
		return T(math.Float64frombits(b))
	}
	return T(int64(b))
}

// Move writes, or reads, the pieces of an array that lie one after the other in raw, from the one of number
// first on. Several goroutines may call it.
type Move func(first int, raw []byte) error

// Array is how this rank writes its pieces of an array, and reads those that it needs. Store is called later,
// from another goroutine: what it writes must stay as it is (Journal.Retire). Of an array that is not Shared
// every piece is moved by one rank.
type Array struct {
	Store, Load func(Move) error
}

// Array is a large part: a file.
func (c *Codec) Array(name string, s Shape, a Array) {
	if c.err != nil {
		return
	}
	if !c.loading {
		c.record.Files = append(c.record.Files, &file{Name: name, Shape: s, store: a})
		return
	}
	for _, f := range c.record.Files {
		if f.Name == name {
			c.err = c.load(f, s, a)
			return
		}
	}
	c.err = fmt.Errorf("record %s has no array %s", c.record.Path, name)
}

// load reads an array. It is collective.
func (c *Codec) load(f *file, s Shape, a Array) error {
	if f.Count != s.Count || f.offset(f.Count) != s.offset(s.Count) || f.Shared != s.Shared {
		return fmt.Errorf("%s is damaged: it has %d pieces and %d bytes, not %d and %d", f.At, f.Count,
			f.offset(f.Count), s.Count, s.offset(s.Count))
	}
	return comm.Agree(c.journal.comm, comm.BadInput, c.journal.damaged(c.journal.read(f, a.Load)))
}
