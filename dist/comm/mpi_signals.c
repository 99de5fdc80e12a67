#include "mpi_signals.h"

#include <signal.h>
#include <stddef.h>

static struct sigaction kept[NSIG];

void signals_keep(void) {
  for (int s = 1; s < NSIG; s++)
    if (sigaction(s, NULL, &kept[s]) != 0) kept[s].sa_handler = SIG_DFL;
}

void signals_restore(void) {
  for (int s = 1; s < NSIG; s++)
    if (kept[s].sa_handler != SIG_DFL && kept[s].sa_handler != SIG_IGN) sigaction(s, &kept[s], NULL);
}
