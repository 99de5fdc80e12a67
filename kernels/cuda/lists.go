package cuda

import (
	"math"

	"jmpi/kernels"
)

// Lists of numbers go to the device through the queue's staging memory. They have a buffer of their own, by
// what they are, and stay until the next list of that name.

// integers and numbers return where a list is, 0 if it is empty.
func (d *device) integers(what string, x []int) (kernels.Address, error) {
	return d.list(what, len(x), func(i int) uint64 { return uint64(x[i]) })
}

func (d *device) numbers(what string, x []float64) (kernels.Address, error) {
	return d.list(what, len(x), func(i int) uint64 { return math.Float64bits(x[i]) })
}

func (d *device) list(what string, n int, word func(i int) uint64) (kernels.Address, error) {
	if n == 0 {
		return 0, nil
	}
	to, err := d.need(what, int64(n)*kernels.WordBytes)
	if err != nil {
		return 0, err
	}
	return to, d.post(to, n, word)
}

// post queues the copy of n words, of which word(i) is number i.
func (d *device) post(to kernels.Address, n int, word func(i int) uint64) error {
	q := &d.queue
	for first := 0; first < n; {
		if stagingBytes-q.used < kernels.WordBytes {
			if err := d.sync(); err != nil {
				return err
			}
		}
		count := min(n-first, (stagingBytes-q.used)/kernels.WordBytes)
		fill := func(host kernels.Address) {
			staged := structs[uint64](host, count)
			for i := range staged {
				staged[i] = word(first + i)
			}
		}
		if _, err := q.stage(d, count*kernels.WordBytes, fill,
			to+kernels.Address(first*kernels.WordBytes)); err != nil {
			return err
		}
		first += count
	}
	return nil
}
