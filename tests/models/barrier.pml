/* The barrier of a host unit (hdu_barrier() in src/backend/cpu/unit/team.c), whose
 * cores sleep in it: nobody passes before all have come, nobody sleeps on after.
 *
 * The accesses of the source are sequentially consistent; here they are a
 * release or acquire with the full fence of its own that makes them so. When a
 * core is left asleep, Spin finds an invalid end state. The futex puts to sleep
 * only while the newest round is the one that the core has seen. */
#ifndef CORES
#define CORES 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define LOCATIONS 4
#define MESSAGES 24
#define THREADS CORES
#include "memory.pml"

#define ARRIVED 0
#define ROUND 1
#define SLEEPERS 2
#define DATA 3 /* written before the barrier by core 0, read after by all */

#ifdef UNFENCED
#define settle(p) skip
#else
#define settle(p) fence_seq_cst(p)
#endif

byte passed[CORES];
bool asleep[CORES];

/* FUTEX_WAKE */
inline wake_all() {
  d_step {
    asleep[0] = 0;
    asleep[1] = 0;
#if CORES == 3
    asleep[2] = 0;
#endif
  }
}

inline barrier(p) {
  load(p, ROUND, RELAXED, round);
  exchange(p, ARRIVED, x, x + 1, ACQ_REL);
  settle(p);
  if
  :: x + 1 == CORES ->
#ifndef RESET_LATE
     store(p, ARRIVED, 0, RELAXED);
#endif
     store(p, ROUND, round + 1, RELEASE);
     settle(p);
#ifdef RESET_LATE /* the next round may have begun to count */
     store(p, ARRIVED, 0, RELAXED);
#endif
     load(p, SLEEPERS, ACQUIRE, x);
     if
     :: x > 0 -> wake_all()
     :: else
     fi
  :: else ->
     naps = 0;
     do
     :: if
        :: naps < 2 -> load(p, ROUND, ACQUIRE, x)
        :: else -> exchange(p, ROUND, x, x, ACQUIRE) /* in the end it sees it */
        fi;
        if
        :: x != round -> break
        :: else -> naps = (naps < 2 -> naps + 1 : naps)
        fi;
#ifndef UNCOUNTED
        exchange(p, SLEEPERS, x, x + 1, ACQ_REL);
#endif
        settle(p);
        atomic { /* FUTEX_WAIT */
          if
#ifdef BLIND /* the futex does not look again */
          :: true -> asleep[p] = 1
#else
          :: NEWEST(ROUND) == round -> asleep[p] = 1
          :: else
#endif
          fi
        };
        !asleep[p];
#ifndef UNCOUNTED
        exchange(p, SLEEPERS, x, x - 1, ACQ_REL)
#endif
     od
  fi;
  x = 0;
  naps = 0;
  round = 0
}

proctype core(byte p) {
  byte x, round, n, naps;
  do
  :: n < ROUNDS ->
     n++;
     if
     :: p == 0 -> store(p, DATA, n, RELAXED)
     :: else
     fi;
     passed[p] = n; /* comes to round n */
     barrier(p);
     assert(passed[0] >= n && passed[1] >= n);
#if CORES == 3
     assert(passed[2] >= n);
#endif
     load(p, DATA, RELAXED, x);
     assert(x >= n);
     x = 0
  :: else -> break
  od
}

init {
  start_memory();
  atomic {
    run core(0); run core(1);
#if CORES == 3
    run core(2);
#endif
  }
}
