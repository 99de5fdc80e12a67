package dist

import "jmpi/internal/limits"

// Host says what the host of this rank can give.
type Host struct {
	Threads int          // for what is computed in its memory: slabs, and FactorIndefinite of package matrix
	Memory  func() int64 // bytes that it can still give, 0 if that is not known; may be nil
	// Room returns the bytes that this process can still take for matrices by a resource limit, and the limit's
	// name, "" if there is none. computing says that the threads which compute have started. It may be nil.
	Room func(computing bool) (bytes int64, limit string)
}

// ThisHost is the host of this process, on which so many threads compute.
func ThisHost(threads int) Host {
	return Host{Threads: threads, Memory: limits.Memory, Room: func(computing bool) (int64, string) {
		at := limits.AfterMPI
		if computing {
			at = limits.Computing
		}
		space, ok := limits.Room(threads, at)
		if !ok {
			return 0, ""
		}
		return space.Left, space.String()
	}}
}
