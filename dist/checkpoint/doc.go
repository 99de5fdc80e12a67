// Package checkpoint keeps what a run has come to in a folder, so that another run goes on from there. It has
// the files and the order of things. What is kept, its callers hand over.
//
// # Stages
//
// A run is a series of stages: the matrix is prepared, a Jacobi method runs, what it gave is refined, another
// one runs. The series is the same whenever the program runs with the same input and options. So a stage is
// known by its number. Journal.Next gives the next stage its number. A stage may have others inside
// (Journal.Enter): stage 2.1 is the first one inside stage 2. Stage 1, with all others inside, is the
// decomposition.
//
// A run that goes on executes the same program. Where the checkpoint has what a stage has made (Stage.Found),
// that is read (Stage.Load) and not computed. A stage that is over hands over what it has made (Stage.Put);
// then the stages inside it are forgotten. A Jacobi method (the kind State) hands over its state after sweeps
// instead, each in place of the one before, and its last one stays. So does the refinement of what it gives
// (Refinement). When a later stage hands over something that was made of such a state, its large arrays are
// forgotten. Its facts stay (Stage.Bare): the run goes by them.
//
// A value has one description, a function that calls Fact, Vector and Array for its parts. It serves writing
// and reading (Codec).
//
// # The folder
//
//	manifest.json    the facts, and the names, lengths and checksums of all files
//	000007/2.1.G     array G of stage 2.1, written by the seventh checkpoint
//	lock             the number of the run, in hexadecimal; a run at work holds a lock (flock) on it
//
// A checkpoint writes what is not on the disk yet into a folder of its own, whose name is its number. Then
// manifest.json is replaced by a rename, and files that the new one does not name are deleted. So the folder
// has a whole checkpoint at any moment, the old or the new one. What a run that was killed has left is
// deleted by the next.
//
// manifest.json has the fields format (4), jmpi (the version that wrote it), run (a random number, the same
// for all runs that go on), generation (the number of the checkpoint), input and options (what the run is
// known by; they must be the same), records, and sum, the SHA-256 of the whole with an empty sum. A record
// has path (2.1), kind, facts, and files. A file has name, at (its path), count and bytes, or count and
// sizes, and sum.
//
// # Arrays
//
// An array is a file of pieces, one after the other, without a header. A piece is a column of a matrix: its
// elements in order, little endian, float64 or float32. So column j of an m×n matrix is at j·m·8, whoever has
// written it. Or a piece is the Householder reflectors of a panel, with their triangle. Each rank writes the
// pieces that it has, with no word to the others, and any number of ranks reads it. A file has a checksum
// (matio.Sum), the sum of those of its pieces. Each rank adds up those of the pieces that it writes; rank 0
// adds up these, for which every rank sends it a message. On reading it is the same.
//
// # Beside the computing
//
// Journal.Save starts a goroutine on each rank that writes, and returns. Meanwhile arrays must not change:
// callers hand over copies, or matrices that nobody changes, and free them by Journal.Retire. Messages of
// these goroutines are point to point, so they do not meet the collective calls of the run. Whether all went
// well the ranks tell each other after the next sweep (Vote, Decide), and in Wait. A run that has its results
// gives up what is still being written (Journal.GiveUp).
//
// # Stops
//
// After each sweep, after other steps with a state (Offer), and after stages that take long (Check), the
// ranks add up their votes. If one was asked to stop, or the time limit would come during the next step, a
// checkpoint is written, and all ranks return the same failure, of the kind comm.Stopped.
package checkpoint
