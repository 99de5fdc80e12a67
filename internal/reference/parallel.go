package reference

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls f(i) for 0 ≤ i < n, on all cores, each taking chunk of them at a time.
func parallel(n, chunk int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for lo := int(next.Add(int64(chunk))) - chunk; lo < n; lo = int(next.Add(int64(chunk))) - chunk {
			for i := lo; i < min(lo+chunk, n); i++ {
				f(i)
			}
		}
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
}
