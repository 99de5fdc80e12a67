// Command stall collects garbage for two seconds while a thread enters and leaves C. It prints how long the
// longest collection took. With the argument "prevent" it prevents stalls.
package main

/*
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int rung;

static void wait_bell(void) {
  pthread_mutex_lock(&lock);
  while (!rung) pthread_cond_wait(&cond, &lock);
  rung = 0;
  pthread_mutex_unlock(&lock);
}

static void ring(void) {
  pthread_mutex_lock(&lock);
  rung = 1;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&lock);
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"jmpi/internal/stall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "prevent" {
		stall.Prevent()
	}
	woken := make(chan struct{}, 1)
	go func() {
		runtime.LockOSThread()
		for {
			C.wait_bell()
			woken <- struct{}{}
		}
	}()
	var longest time.Duration
	for start := time.Now(); time.Since(start) < 2*time.Second; {
		C.ring()
		<-woken
		before := time.Now()
		runtime.GC()
		longest = max(longest, time.Since(before))
	}
	fmt.Println(longest)
}
