package dist

import "time"

// World is the communicator of the processes that mpirun has started, nil elsewhere.
func World() Comm { return world }

// MPIRun and Passes are mpirun and passes for the tests outside the package.
var (
	MPIRun = mpirun
	Passes = passes
)

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

// SetStageBytes cuts staged messages into chunks of n bytes until restore is called.
func SetStageBytes(n int64) (restore func()) { return set(&stageBytes, n) }

// SetSpinCores lets ranks of n cores or more spin until restore is called.
func SetSpinCores(n int64) (restore func()) { return set(&spinCores, n) }

func set(variable *int64, value int64) (restore func()) {
	before := *variable
	*variable = value
	return func() { *variable = before }
}
