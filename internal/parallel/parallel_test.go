package parallel

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
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
