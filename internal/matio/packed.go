package matio

import (
	"bytes"
	"container/list"
	"fmt"
	"math"
	"sync"

	"jmpi/internal/hdf5"
)

const (
	// tileBytes is about the size of what is unpacked at a time.
	tileBytes = 1 << 20
	// cacheBytes of what was unpacked last are kept.
	cacheBytes = 64 << 20
)

// tiling cuts a data set into tiles, each of some whole chunks.
type tiling struct {
	lines, length int64 // of the data set
	height, width int64 // of a tile
	size          int64 // bytes of a number
}

// newTiling returns the tiling of a data set.
func newTiling(s hdf5.Dataset) tiling {
	one := func(x []uint64, k int) int64 {
		if k >= len(x) {
			return 1
		}
		return int64(min(x[k], 1<<62))
	}
	t := tiling{lines: one(s.Dims, 0), length: one(s.Dims, 1), height: 1, width: 1, size: 8}
	if d, err := parseDtype(s.Dtype); err == nil {
		t.size = int64(d.size)
	}
	if s.Chunk != nil {
		t.height, t.width = min(t.lines, one(s.Chunk, 0)), min(t.length, one(s.Chunk, 1))
	}
	t.width = min(t.length, t.width*max(1, tileBytes/t.bytes()))
	t.height = min(t.lines, t.height*max(1, tileBytes/t.bytes()))
	return t
}

// bytes is the size of a tile.
func (t tiling) bytes() int64 { return max(1, t.height*t.width*t.size) }

// window is the size of a tile with all of its chunks, which may be larger than the data set.
func (t tiling) window(chunk []uint64) int64 {
	rows, cols := t.height, t.width
	if len(chunk) > 0 {
		rows = max(rows, int64(min(chunk[0], math.MaxUint32)))
	}
	if len(chunk) > 1 {
		cols = max(cols, int64(min(chunk[1], math.MaxUint32)))
	}
	if rows > math.MaxInt64/8/cols {
		return math.MaxInt64
	}
	return rows * cols * t.size
}

// packed is a data set whose numbers a library must unpack. What was unpacked last is kept, so that parts of
// one tile that are read one after the other are unpacked once.
type packed struct {
	tiling
	data *hdf5.File
	flat flat // how numbers lie in the data set, and in a tile but for its length

	mu     sync.Mutex
	tiles  map[[2]int64]*tile
	recent list.List // of these, the one that was used last in front
	kept   int64     // bytes
	most   int64     // of them
	work   int64     // bytes that were unpacked
	spill  spill
}

// tile is a part of the data set, unpacked.
type tile struct {
	at    [2]int64 // the place of its first number, in tiles
	once  sync.Once
	bytes []byte
	err   error
	place *list.Element
}

func newPacked(data *hdf5.File, body flat, lines int64) *packed {
	body.base = 0
	return &packed{tiling: newTiling(data.Dataset), data: data, flat: body, tiles: map[[2]int64]*tile{},
		most: cacheBytes}
}

// band returns how many lines are read at a time so that no tile of them is unpacked twice; across says that
// the lines are not those of the data set, but go across them.
func (p *packed) band(across bool) int64 {
	height, other := p.height, p.length
	if across {
		height, other = p.width, p.lines
	}
	return height * max(1, p.most/2/max(1, height*other*p.size))
}

// read reads a part of the matrix and tells whether all its numbers are finite.
func (p *packed) read(x part) (bool, error) {
	from, to := [2]int64{x.i0, x.j0}, [2]int64{x.i1, x.j1}
	if p.flat.fortran {
		from, to = [2]int64{x.j0, x.i0}, [2]int64{x.j1, x.i1}
	}
	ok := true
	if from[0] == to[0] || from[1] == to[1] {
		return ok, nil
	}
	if f := p.copied(); f != nil {
		return f.read(x)
	}
	for i := from[0] / p.height; i*p.height < to[0]; i++ {
		for j := from[1] / p.width; j*p.width < to[1]; j++ {
			finite, err := p.piece(x, [2]int64{i, j}, from, to)
			if err != nil {
				return false, err
			}
			ok = ok && finite
		}
	}
	return ok, nil
}

// piece reads what a tile has of a part, whose lines and places in them are given.
func (p *packed) piece(x part, at, from, to [2]int64) (bool, error) {
	t := p.unpacked(at)
	if t.err != nil {
		return false, t.err
	}
	origin := [2]int64{at[0] * p.height, at[1] * p.width}
	first := [2]int64{max(from[0], origin[0]), max(from[1], origin[1])}
	last := [2]int64{min(to[0], origin[0]+p.height), min(to[1], origin[1]+p.width)}
	body := p.flat
	body.r, body.length = bytes.NewReader(t.bytes), min(p.width, p.length-origin[1])
	i, j := first[0], first[1]
	y := part{i - origin[0], last[0] - origin[0], j - origin[1], last[1] - origin[1], nil, x.rs, x.cs}
	if p.flat.fortran {
		y.i0, y.i1, y.j0, y.j1 = y.j0, y.j1, y.i0, y.i1
		i, j = j, i
	}
	y.dst = x.dst[int(i-x.i0)*x.rs+int(j-x.j0)*x.cs:]
	return body.read(y)
}

// unpacked returns a tile.
func (p *packed) unpacked(at [2]int64) *tile {
	p.mu.Lock()
	t := p.tiles[at]
	if t == nil {
		t = &tile{at: at}
		t.place = p.recent.PushFront(t)
		p.tiles[at] = t
		p.kept += p.bytes()
		p.work += p.bytes()
		for p.kept > p.most && p.recent.Len() > 1 {
			p.forget(p.recent.Back().Value.(*tile))
		}
	} else {
		p.recent.MoveToFront(t.place)
	}
	p.mu.Unlock()
	t.once.Do(func() { t.bytes, t.err = p.unpack(at) })
	return t
}

// forget drops a tile, which those who read it keep.
func (p *packed) forget(t *tile) {
	p.recent.Remove(t.place)
	delete(p.tiles, t.at)
	p.kept -= p.bytes()
}

// unpack has the library unpack a tile.
func (p *packed) unpack(at [2]int64) ([]byte, error) {
	i, j := at[0]*p.height, at[1]*p.width
	height, width := min(p.height, p.lines-i), min(p.width, p.length-j)
	b := make([]byte, height*width*p.size)
	rank := len(p.data.Dims)
	err := p.data.Read([]uint64{uint64(i), uint64(j)}[:rank], []uint64{uint64(height), uint64(width)}[:rank], b)
	if err != nil {
		if p.flat.fortran {
			i, j = j, i
		}
		what := fmt.Sprintf("its numbers from row %d and column %d on cannot be unpacked: %v", i+1, j+1, err)
		return nil, &Error{Path: p.flat.path, What: what}
	}
	return b, nil
}
