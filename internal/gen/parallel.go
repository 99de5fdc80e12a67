package gen

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls f on disjoint chunks lo ≤ i < hi that cover 0 ≤ i < n, on all cores. What f
// computes for an i must not depend on the chunk it comes in.
func parallel(n, chunk int, f func(lo, hi int)) {
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	if workers <= 1 {
		if n > 0 {
			f(0, n)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				hi := int(next.Add(int64(chunk)))
				lo := hi - chunk
				if lo >= n {
					return
				}
				f(lo, min(hi, n))
			}
		})
	}
	group.Wait()
}
