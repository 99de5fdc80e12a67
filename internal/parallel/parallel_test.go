package parallel

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestEveryTaskIsDoneOnce(t *testing.T) {
	for _, threads := range []int{0, 1, 3, 16} {
		for _, tasks := range []int{0, 1, 2, 100} {
			done := make([]atomic.Int64, tasks)
			err := Workers(threads, tasks, func(w, i int) error {
				if w < 0 || w >= max(1, threads) {
					t.Errorf("worker %d of %d", w, threads)
				}
				done[i].Add(1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			for i := range done {
				if n := done[i].Load(); n != 1 {
					t.Errorf("%d threads, %d tasks: task %d was done %d times", threads, tasks, i, n)
				}
			}
		}
	}
}

func TestChunksCover(t *testing.T) {
	for _, n := range []int{0, 1, 7, 64, 65} {
		done := make([]atomic.Int64, n)
		Chunks(n, 8, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				done[i].Add(1)
			}
		})
		for i := range done {
			if c := done[i].Load(); c != 1 {
				t.Errorf("n = %d: %d is in %d chunks", n, i, c)
			}
		}
	}
}

// The first task, by number, is the one whose error is returned, whoever runs it, if all begin
// before one fails.
func TestFirstErrorIsReturned(t *testing.T) {
	all := make(chan struct{})
	var begun atomic.Int64
	err := Each(4, 4, func(i int) error {
		if begun.Add(1) == 4 {
			close(all)
		}
		<-all
		return fmt.Errorf("task %d", i)
	})
	if err == nil || err.Error() != "task 0" {
		t.Errorf("%v", err)
	}
}

// A panic on any goroutine, in a loop inside another too, reaches the caller, with what it was and where.
func TestPanicReachesTheCaller(t *testing.T) {
	cause := errors.New("the cause")
	for _, at := range []int{0, 5, 99} {
		for _, threads := range []int{1, 4} {
			func() {
				defer func() {
					p, ok := recover().(*Panic)
					if !ok || !errors.Is(p, cause) || !strings.Contains(string(p.Stack), t.Name()) {
						t.Errorf("task %d on %d threads: %v", at, threads, p)
					}
				}()
				_ = Each(threads, 100, func(i int) error {
					return Each(threads, 3, func(j int) error {
						if i == at && j == 2 {
							panic(cause)
						}
						return nil
					})
				})
				t.Errorf("task %d on %d threads: no panic", at, threads)
			}()
		}
	}
}

// A panic in Guard goes to lost, once, whether or not it comes from a loop inside.
func TestGuardHandsOverAPanic(t *testing.T) {
	cause := errors.New("the cause")
	for name, f := range map[string]func(){
		"plain":  func() { panic(cause) },
		"a loop": func() { Do(4, 8, func(int) { panic(cause) }) },
	} {
		lost := make(chan error, 2)
		done := make(chan struct{})
		go func() {
			defer close(done)
			Guard(f, func(err error) { lost <- err })
		}()
		<-done
		close(lost)
		var p *Panic
		err := <-lost
		if !errors.As(err, &p) || !errors.Is(err, cause) || err.Error() != "internal error: the cause" ||
			!strings.Contains(string(p.Stack), t.Name()) {
			t.Errorf("%s: %v", name, err)
		}
		if err, more := <-lost; more {
			t.Errorf("%s: a second time: %v", name, err)
		}
	}
	Guard(func() {}, func(err error) { t.Errorf("without a panic: %v", err) })
}

// A goroutine that comes late is not waited for: here it cannot come before the loop has ended.
func TestLateGoroutinesAreNotWaitedFor(t *testing.T) {
	var late []func()
	done := 0
	loop := func(tasks int, f func(w, i int) error) error {
		return workers(3, tasks, f, func(work func()) { late = append(late, work) }, 0)
	}
	if err := loop(5, func(w, i int) error { done++; return nil }); err != nil || done != 5 {
		t.Errorf("%d of 5 tasks, %v", done, err)
	}
	for _, work := range late {
		work()
	}
	if len(late) != 2 || done != 5 {
		t.Errorf("%d goroutines, %d tasks when the last have come", len(late), done)
	}
}

// The goroutines of a crew do one loop after the other, at the same time from several callers, and with
// pauses in between that are longer and shorter than they stay awake.
func TestCrew(t *testing.T) {
	cause := errors.New("the cause")
	for _, awake := range []time.Duration{0, 20 * time.Microsecond, time.Millisecond} {
		c := &Crew{Awake: awake, Patience: awake / 2}
		Do(3, 3, func(caller int) {
			for round := range 60 {
				const tasks = 4
				var done [tasks]atomic.Int64
				var meeting sync.WaitGroup
				meeting.Add(tasks) // all tasks run at the same time
				err := c.Each(tasks, func(i int) error {
					meeting.Done()
					meeting.Wait()
					done[i].Add(1)
					if i == round%(2*tasks) {
						return cause
					}
					return nil
				})
				if (round%(2*tasks) < tasks) != errors.Is(err, cause) {
					t.Errorf("round %d: %v", round, err)
				}
				for i := range done {
					if n := done[i].Load(); n != 1 {
						t.Errorf("round %d: task %d was done %d times", round, i, n)
					}
				}
				if round%20 == caller {
					time.Sleep(time.Millisecond)
				}
			}
		})
		func() {
			defer func() {
				if p, ok := recover().(*Panic); !ok || !errors.Is(p, cause) {
					t.Errorf("the panic of a task is %v", p)
				}
			}()
			_ = c.Each(2, func(i int) error {
				if i == 1 {
					panic(cause)
				}
				return nil
			})
		}()
	}
}

// No goroutine of a crew stays for longer than it is to stay awake.
func TestCrewGoesHome(t *testing.T) {
	c := &Crew{Awake: time.Millisecond}
	for range 10 {
		if err := c.Each(3, func(int) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		count := len(c.waiting)
		c.mu.Unlock()
		if count == 0 {
			return
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%d goroutines still wait", count)
		}
	}
}
