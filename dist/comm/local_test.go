package comm_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/comm/commtest"
)

func TestLocal(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) {
			comms := comm.NewLocal(n)
			commtest.Run(t, comms...)
			for _, c := range comms {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// block returns n zeroed bytes outside the Go heap for the time of the test.
func block(t testing.TB, n int) *commtest.Block {
	t.Helper()
	b, err := commtest.NewBlock(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// onAll runs body on every rank and returns the errors.
func onAll(comms []comm.Comm, body func(comm.Comm) error) []error {
	errs := make([]error, len(comms))
	var ranks sync.WaitGroup
	for i, c := range comms {
		ranks.Go(func() { errs[i] = body(c) })
	}
	ranks.Wait()
	return errs
}

func wantCommError(t *testing.T, err error, want comm.CommError) {
	t.Helper()
	var got *comm.CommError
	if !errors.As(err, &got) {
		t.Fatalf("error %v, want a CommError", err)
	}
	if got.Op != want.Op || got.Rank != want.Rank || got.Peer != want.Peer || got.Tag != want.Tag {
		t.Errorf("error %+v, want %+v", *got, want)
	}
}

func TestLocalWrongLengthIsAnErrorOnBothSides(t *testing.T) {
	for _, length := range []struct{ sent, expected int64 }{{8, 16}, {16, 8}, {0, 1}, {1, 0}} {
		comms := comm.NewLocal(2)
		from, to := block(t, 16), block(t, 16)
		copy(from.Bytes, "0123456789abcdef")
		send := comms[0].Isend(from.Address(0), length.sent, 1, 5)
		receive := comms[1].Irecv(to.Address(0), length.expected, 0, 5)
		wantCommError(t, send.Wait(), comm.CommError{Op: "send", Rank: 0, Peer: 1, Tag: 5})
		wantCommError(t, receive.Wait(), comm.CommError{Op: "receive", Rank: 1, Peer: 0, Tag: 5})
		if !bytes.Equal(to.Bytes, make([]byte, 16)) {
			t.Errorf("%v: bytes were delivered: %q", length, to.Bytes)
		}
	}
}

// A send must not be done before its receive exists: MPI may buffer or not, and what needs the
// buffer is wrong.
func TestLocalSendWaitsForItsReceive(t *testing.T) {
	comms := comm.NewLocal(2)
	b := block(t, 2)
	done := make(chan error, 1)
	send := comms[0].Isend(b.Address(0), 1, 1, 1)
	other := comms[0].Isend(b.Address(0), 1, 1, 2)
	go func() { done <- send.Wait() }()
	if err := comms[1].Irecv(b.Address(1), 1, 0, 2).Wait(); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("the send is done without a receive (error %v)", err)
	default:
	}
	if err := comms[1].Irecv(b.Address(1), 1, 0, 1).Wait(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestLocalAbortEndsPendingAndLaterCalls(t *testing.T) {
	comms := comm.NewLocal(3)
	b := block(t, 4)
	pending := []*comm.Request{
		comms[0].Isend(b.Address(0), 1, 1, 1),
		comms[1].Irecv(b.Address(1), 1, 2, 1),
		comms[2].Irecv(b.Address(2), 1, 2, 9),
	}
	waiting := make(chan error, 2)
	go func() { waiting <- comms[0].AllreduceSum([]int64{1}) }()
	go func() { waiting <- comms[1].AllreduceSum([]int64{1}) }()
	comms[2].Abort(6)
	for i, r := range pending {
		if r.Wait() == nil {
			t.Errorf("pending request %d has no error", i)
		}
	}
	for range 2 {
		if <-waiting == nil {
			t.Error("a collective call that lacks a rank has no error")
		}
	}
	for rank, c := range comms {
		if c.Isend(b.Address(0), 1, rank, 1).Wait() == nil || c.Irecv(b.Address(1), 1, rank, 1).Wait() == nil {
			t.Errorf("rank %d: a later message has no error", rank)
		}
		if c.AllreduceMax([]int64{1}) == nil {
			t.Errorf("rank %d: a later allreduce has no error", rank)
		}
		if _, err := c.Allgather(nil); err == nil {
			t.Errorf("rank %d: a later allgather has no error", rank)
		}
		if c.Close() == nil {
			t.Errorf("rank %d: a later close has no error", rank)
		}
	}
}

func TestLocalCollectivesThatDoNotFitTogether(t *testing.T) {
	tests := map[string]func(comm.Comm) error{
		"lengths": func(c comm.Comm) error { return c.AllreduceSum(make([]int64, 1+c.Rank())) },
		"operations": func(c comm.Comm) error {
			if c.Rank() == 0 {
				return c.AllreduceSum([]int64{1})
			}
			return c.AllreduceMax([]int64{1})
		},
		"kinds": func(c comm.Comm) error {
			if c.Rank() == 0 {
				return c.AllreduceSum(nil)
			}
			_, err := c.Allgather(nil)
			return err
		},
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			for rank, err := range onAll(comm.NewLocal(2), body) {
				if err == nil {
					t.Errorf("rank %d has no error", rank)
				}
			}
		})
	}
}

func TestLocalCloseTellsUnmatchedMessages(t *testing.T) {
	comms := comm.NewLocal(2)
	b := block(t, 1)
	comms[0].Irecv(b.Address(0), 1, 1, 3)
	wantCommError(t, comms[0].Close(), comm.CommError{Op: "close", Rank: 0, Peer: -1, Tag: -1})
	if err := comms[1].Close(); err != nil {
		t.Errorf("rank 1: %v", err)
	}
	if comms[1].Isend(b.Address(0), 1, 0, 3).Wait() == nil {
		t.Error("a send after Close has no error")
	}
}

func TestLocalAllgatherTooLong(t *testing.T) {
	for rank, err := range onAll(comm.NewLocal(3), gatherTooMuch(t)) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// gatherTooMuch makes all ranks together exceed the limit by one byte, then meet it.
func gatherTooMuch(t *testing.T) func(c comm.Comm) error {
	const limit = 100
	t.Cleanup(comm.SetGatherLimit(limit))
	return func(c comm.Comm) error {
		part := make([]byte, limit/c.Size())
		if c.Rank() == 0 {
			part = make([]byte, limit-(c.Size()-1)*len(part))
		}
		if _, err := c.Allgather(append(part, make([]byte, 1)...)); !errors.Is(err, comm.ErrTooLong) {
			return fmt.Errorf("error %v, want %v", err, comm.ErrTooLong)
		}
		_, err := c.Allgather(part)
		return err
	}
}
