/* A host unit asleep at its bell (hdu_pause() and hdi_team_ring() in
 * src/backend/cpu/unit/team.c): it does not stay asleep beside a task.
 *
 * The worker rings often and fences never; the unit, before it sleeps, makes
 * every thread pass a fence (membarrier). When both have come to rest and a task
 * is left, Spin finds an invalid end state. The futex is the kernel's: it puts
 * to sleep only while the word's newest value is 1. */
#ifndef TASKS
#define TASKS 2
#endif
#define LOCATIONS (TASKS + 1)
#define MESSAGES 20
#define THREADS 2
#include "memory.pml"

#define ASLEEP 0
#define BELL(n) (n) /* each in a slot of its own */

#define WORKER 0
#define UNIT 1

#ifdef SLEEP_UNSETTLED
#define settle skip
#else
#ifdef SLEEP_FENCED /* a fence of the unit's own */
#define settle fence_seq_cst(UNIT)
#else
#define settle atomic { fence_seq_cst(UNIT); fence_seq_cst(WORKER); \
                        fence_seq_cst(UNIT) }
#endif
#endif

bool sleeps;

inline ring(n) {
#ifndef ASK_FIRST
  store(WORKER, BELL(n), n, RELAXED);
#endif
  load(WORKER, ASLEEP, RELAXED, x);
#ifdef ASK_FIRST /* whether it sleeps, before there is something to see */
  store(WORKER, BELL(n), n, RELAXED);
#endif
  if
  :: x ->
#ifndef WAKE_ONLY /* it may be just before its sleep */
     store(WORKER, ASLEEP, 0, RELAXED);
#endif
     sleeps = 0
  :: else
  fi;
  x = 0
}

proctype worker() {
  byte n, x;
  do
  :: n < TASKS -> n++; ring(n)
  :: else -> break
  od
}

proctype unit() {
  byte n = 1, x;
  do
  :: n > TASKS -> break
  :: else ->
     load(UNIT, BELL(n), RELAXED, x);
     if
     :: x == n -> n++
     :: else ->
#ifdef LOOK_FIRST
        load(UNIT, BELL(n), RELAXED, x);
#endif
        store(UNIT, ASLEEP, 1, RELAXED);
        settle;
#ifndef LOOK_FIRST
        load(UNIT, BELL(n), RELAXED, x);
#endif
        if
        :: x != n ->
           atomic {
             if
             :: NEWEST(ASLEEP) == 1 -> sleeps = 1
             :: else
             fi
           };
           !sleeps
        :: else
        fi;
        store(UNIT, ASLEEP, 0, RELAXED)
     fi;
     x = 0
  od
}

init {
  start_memory();
  atomic { run worker(); run unit() }
}
