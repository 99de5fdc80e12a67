// The part of MPI that jmpi uses besides gompi: non-blocking calls on raw memory, on an own
// duplicate of MPI_COMM_WORLD with MPI_ERRORS_RETURN. MPI exists once in a process, so does this state.
// All functions but raw_ring and raw_now are for the one thread that started MPI. They return
// MPI_SUCCESS (0) or an MPI error code; raw_error_text explains it.
#ifndef JMPI_MPI_RAW_H
#define JMPI_MPI_RAW_H
#include <stdint.h>

// What became of one request.
typedef struct {
  int64_t id;    // as given when it was posted
  int64_t bytes; // received; 0 for all but receives
  int code;      // MPI_SUCCESS or the error code
} raw_completion;

int raw_start(void);
int raw_finish(void);
// raw_linger moves what is under way for so long.
int raw_linger(int64_t ns);
void raw_abort(int code);

// The posting calls start an operation that raw_wait will report under id. Its memory must not be Go memory.
int raw_isend(uintptr_t a, int bytes, int to, int tag, int64_t id);
int raw_irecv(uintptr_t a, int bytes, int from, int tag, int64_t id);
int raw_iallreduce(const int64_t *in, int64_t *out, int count, int maximum, int64_t id);
int raw_iallgather(const int64_t *in, int64_t *out, int64_t id);
int raw_ibcast(void *both, int bytes, int root, int64_t id);
int raw_iallgatherv(const void *in, int bytes, void *out, const int *lengths, const int *offsets, int64_t id);
int raw_ibarrier(int64_t id);

// raw_wait waits until requests are done or the bell rings, for the bell alone if there are no requests; *n
// entries of *done are valid until the next call. busy_ns is how long the messages under way may be polled
// hard as long as bytes move; with spin they are polled without pause in any case.
int raw_wait(int64_t busy_ns, int spin, raw_completion **done, int *n);

// raw_ring ends the raw_wait under way, or else the next one. Any thread may call it.
void raw_ring(void);

// raw_now is a clock in nanoseconds. Any thread may ask it.
int64_t raw_now(void);

// The texts have at most size bytes, the final 0 included.
void raw_error_text(int code, char *text, int size);
void raw_library(char *text, int size);
void raw_node(char *text, int size);
// raw_cuda says what the library claims of CUDA: 1 yes, 0 no, -1 nothing.
int raw_cuda(void);

#endif
