package dist

// World is the communicator of the processes that mpirun has started, nil elsewhere.
func World() Comm { return world }

// MPIRun is mpirun for the tests outside the package.
var MPIRun = mpirun

// SetPieceBytes cuts messages into pieces of n bytes until restore is called.
func SetPieceBytes(n int64) (restore func()) { return set(&pieceBytes, n) }

// SetGatherLimit lets Allgather carry n bytes until restore is called.
func SetGatherLimit(n int64) (restore func()) { return set(&gatherLimit, n) }

func set(variable *int64, value int64) (restore func()) {
	before := *variable
	*variable = value
	return func() { *variable = before }
}
