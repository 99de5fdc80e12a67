package commtest

import (
	"errors"
	"fmt"
	"sync"

	"jmpi/dist/comm"
)

// do runs functions on the library's thread while messages are under way, from several goroutines, and
// wants each one's own error. A communicator that takes host memory alone has no such thread.
func do(c comm.Comm) error {
	library, ok := c.(comm.DeviceMemory)
	if !ok {
		return nil
	}
	const n = 300_000
	to, from := (c.Rank()+1)%c.Size(), (c.Rank()-1+c.Size())%c.Size()
	receive, err := NewBlock(n)
	if err != nil {
		return err
	}
	send, err := NewBlock(n)
	if err != nil {
		return err
	}
	message{c.Rank(), to, 8, 0}.fill(send.Bytes)
	r, s := c.Irecv(receive.Address(0), n, from, 8), c.Isend(send.Address(0), n, to, 8)

	errs := make([]error, 4)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() {
			runs := 0
			want := fmt.Errorf("of function %d", i)
			if got := library.Do(func() error { runs++; return want }); got != want || runs != 1 {
				errs[i] = fmt.Errorf("the call ran the function %d times and returned %v, want %v", runs, got, want)
			} else if got := library.Do(func() error { return nil }); got != nil {
				errs[i] = fmt.Errorf("the call returned %w, want nil", got)
			}
		})
	}
	wait.Wait()
	if err := waitAll([]*comm.Request{r, s}); err != nil {
		return err
	}
	return errors.Join(errors.Join(errs...), message{from, c.Rank(), 8, 0}.check(receive.Bytes), send.Free(),
		receive.Free())
}
