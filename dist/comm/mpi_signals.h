// Signals that a library takes from the program. MPICH sets a handler of its own for SIGUSR1 while it
// starts, without SA_ONSTACK. It calls the handler of before, Go's, on whatever stack is there. Go ends the
// process if that is a goroutine's.
#ifndef JMPI_MPI_SIGNALS_H
#define JMPI_MPI_SIGNALS_H

// signals_keep notes the handlers that there are, signals_restore sets them again. A signal without a handler
// stays as the library leaves it.
void signals_keep(void);
void signals_restore(void);

#endif
