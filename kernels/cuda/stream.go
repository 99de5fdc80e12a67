package cuda

import "jmpi/kernels"

const (
	streamRows    = 32   // STREAM_ROWS of stream.cuh
	streamColumns = 128  // STREAM_COLUMNS
	streamThreads = 256  // STREAM_THREADS
	streamListed  = 1024 // LISTED of changed.cuh
)

// streamShared is the shared memory of a block through which pivots stream.
func (d *device) streamShared() int {
	return d.tiling.streamStages * streamColumns * (streamRows + pad) * kernels.WordBytes
}

// streams tells whether pivots of such an order stream through shared memory: there must be enough of it. Of
// fewer columns half of the work would be with zeros.
func (d *device) streams(order int) bool {
	return d.tiling.streamStages > 0 && order > streamColumns/2 && order <= streamColumns &&
		d.streamShared() < d.shared
}

// multiplyStream forms the products with one block on each multiprocessor, but for those that are the other
// lane's. flags are those of mark_columns.
func (d *device) multiplyStream(s *batch, flags kernels.Address) error {
	g, v := ceil(s.rows, streamRows), ceil(s.vRows, streamRows)
	for first := 0; first < s.n(); first += streamListed {
		count := min(streamListed, s.n()-first)
		err := d.launch("multiply_stream", d.productBlocks(s, count*(g+v)), 1, 1, streamThreads,
			d.streamShared(), s.at+uint64(first*problemBytes), uint64(count), word(flags)+uint64(2*first*s.order),
			uint64(s.order), uint64(g), uint64(v))
		if err != nil {
			return err
		}
	}
	return nil
}
