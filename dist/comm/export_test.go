package comm

import (
	"time"
)

// RawFlag is rawFlag for the tests.
var RawFlag = rawFlag

// KeepSignals is keepSignals for the tests.
var KeepSignals = keepSignals

// SetProbeLimit lets the messages of a Probe take that long until restore is called.
func SetProbeLimit(limit time.Duration) (restore func()) {
	before := probeLimit
	probeLimit = limit
	return func() { probeLimit = before }
}

// SetPieceBytes cuts messages into pieces of n bytes until restore is called.
func SetPieceBytes(n int64) (restore func()) { return set(&pieceBytes, n) }

// SetGatherLimit lets Allgather carry n bytes until restore is called.
func SetGatherLimit(n int64) (restore func()) { return set(&gatherLimit, n) }

// SetSpinCores lets ranks of n cores or more spin until restore is called.
func SetSpinCores(n int64) (restore func()) { return set(&spinCores, n) }

func set(variable *int64, value int64) (restore func()) {
	before := *variable
	*variable = value
	return func() { *variable = before }
}

// EndBeats ends the beats of a watched communicator, and returns what waits for the end of those of
// the others.
func EndBeats(c Comm) (stop func() error) {
	mpi := c.(*mpiComm)
	w := mpi.watch
	w.end()
	mpi.watch = nil // Close must not end it again
	return w.rawStop
}

// Closed is a communicator of so many ranks after Close, which gave this reason.
func Closed(size int, why error) Comm {
	c := &mpiComm{size: size}
	c.queue = &mpiQueue{closed: why}
	return c
}
