package cuda

import (
	"fmt"
	"strconv"
	"strings"
)

// tiling are the sizes in which the products copy their operands to shared memory, which depend on what
// an architecture has of it.
type tiling struct {
	stages    int // chunks in shared memory at a time
	chunk     int // length of a chunk
	gramChunk int // the same, of the Gram kernels: rows

	streamStages int // tiles of rows in shared memory at a time where pivots stream through it (stream.cuh)
}

// tilingOf returns the tiling for an architecture such as "sm_90": one stage where there are no asynchronous
// copies (before 8.0), long chunks where a block has 227 KB (9.0 to 11).
func tilingOf(architecture string) (tiling, error) {
	number, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(architecture, "sm_"), "af"))
	if err != nil {
		return tiling{}, fmt.Errorf("cuda: architecture %q, must be like sm_90", architecture)
	}
	t := tiling{stages: 3, chunk: 16, gramChunk: 16}
	switch major := number / 10; {
	case major < 8:
		t.stages = 1
	case major >= 9 && major < 12:
		t.gramChunk, t.streamStages = 32, 6
	}
	return t, nil
}

// options are the tiling as options of the compiler.
func (t tiling) options() []string {
	return []string{fmt.Sprintf("-DSTAGES=%d", t.stages), fmt.Sprintf("-DCHUNK=%d", t.chunk),
		fmt.Sprintf("-DGRAM_CHUNK=%d", t.gramChunk), fmt.Sprintf("-DSTREAM_STAGES=%d", t.streamStages)}
}
