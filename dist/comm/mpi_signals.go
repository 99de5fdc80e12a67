package comm

// #include "mpi_signals.h"
import "C"

// keepSignals calls start, which starts a library, and gives the program its handlers of signals back.
func keepSignals(start func()) {
	C.signals_keep()
	start()
	C.signals_restore()
}
