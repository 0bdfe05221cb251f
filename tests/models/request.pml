/* A request for work stands while anybody sleeps (park() and answer() in
 * src/steal/worker/working.c): the worker that goes to sleep announces itself, then asks;
 * the owner withdraws the request, then looks for sleepers and asks itself. If
 * the sleeper is still parked when both are done, the request is there. */
#define LOCATIONS 2
#define MESSAGES 6
#define THREADS 2
#include "memory.pml"

#define PARKED 0
#define ASKED 1 /* limit_ is NULL */

byte finished;

proctype owner() {
  byte x;
  byte rounds;
  do
  :: rounds < 2 ->
     rounds++;
     load(0, ASKED, RELAXED, x);
     if
     :: x ->
        store(0, ASKED, 0, RELAXED);
#ifndef ANSWER_UNFENCED
        fence_seq_cst(0);
#endif
#ifndef ANSWER_BLIND
        load(0, PARKED, RELAXED, x);
        if
        :: x -> store(0, ASKED, 1, RELAXED)
        :: else
        fi
#endif
     :: else
     fi;
     x = 0
  :: else -> break
  od;
  finished++
}

inline ask() {
  load(1, ASKED, RELAXED, x);
  if
  :: !x -> store(1, ASKED, 1, RELAXED)
  :: else
  fi;
  x = 0
}

proctype sleeper() {
  byte x;
#ifdef ASK_FIRST
  ask();
#endif
  exchange(1, PARKED, x, 1, RELEASE);
  x = 0;
#ifndef PARK_UNFENCED
  fence_seq_cst(1);
#endif
#ifndef ASK_FIRST
  ask();
#endif
  finished++
}

init {
  start_memory();
  start_value(ASKED, 1); /* from an earlier search */
  atomic { run owner(); run sleeper() }
  finished == 2;
  assert(NEWEST(ASKED) == 1)
}
