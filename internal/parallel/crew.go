package parallel

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Crew has goroutines for loops that follow one another closely, of tasks that are short. A system takes as
// long to wake a thread as a driver to queue some kernels, or much longer. So a goroutine that has nothing
// more to do stays awake for some time, and so does the caller of a loop that waits for its tasks. A thread
// that is awake keeps a core busy.
type Crew struct {
	Awake    time.Duration // 0: no goroutine stays awake
	Patience time.Duration // how long the caller does

	mu      sync.Mutex
	waiting []*hand
}

// hand is a goroutine that has nothing to do.
type hand struct{ work atomic.Pointer[func()] }

// Each is that of the package, on as many goroutines as there are tasks.
func (c *Crew) Each(tasks int, f func(i int) error) error {
	return workers(tasks, tasks, func(_, i int) error { return f(i) }, c.start, c.Patience)
}

// start lets a goroutine do some work.
func (c *Crew) start(work func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.waiting) - 1
	if last < 0 {
		go func() {
			for work != nil {
				work()
				work = c.more()
			}
		}()
		return
	}
	c.waiting[last].work.Store(&work)
	c.waiting = c.waiting[:last]
}

// more waits for work, and returns nil if none comes in time.
func (c *Crew) more() func() {
	if c.Awake <= 0 {
		return nil
	}
	h := &hand{}
	c.mu.Lock()
	c.waiting = append(c.waiting, h)
	c.mu.Unlock()
	if !spin(c.Awake, func() bool { return h.work.Load() != nil }) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if at := slices.Index(c.waiting, h); at >= 0 {
			c.waiting = slices.Delete(c.waiting, at, at+1)
			return nil
		}
	}
	return *h.work.Load()
}

// spin waits for something, awake, and tells whether it has come in time.
func spin(limit time.Duration, there func() bool) bool {
	for begin := time.Now(); !there(); {
		if time.Since(begin) >= limit {
			return false
		}
	}
	return true
}
