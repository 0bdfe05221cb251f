/* Falling asleep and being woken (src/steal/idle.h): nobody sleeps beside work.
 *
 * Workers, and a thread that hands in jobs. When all have come to rest and a
 * job is left, Spin finds an invalid end state. The futex itself is the kernel's
 * and taken as it should be: a sleeper gets up when its `awake` is set. */
#define LOCATIONS 3
#define MESSAGES 16
#define THREADS 3
#include "memory.pml"

#define WORK 0      /* jobs to be seen */
#define PARKED 1    /* bits */
#define SEARCHING 2 /* plus ZERO */
#define ZERO 8
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef JOBS
#define JOBS 2
#endif
#define BIT(i) (1 << (i))
#define HAS(bits, i) (((bits) >> (i)) & 1)
#define WITHOUT(bits, i) ((bits) & (255 - BIT(i)))

#ifdef TELL_UNFENCED
#define TELL_FENCE(p) skip
#else
#define TELL_FENCE(p) fence_seq_cst(p)
#endif
#ifdef PARK_UNFENCED
#define PARK_FENCE(p) skip
#else
#define PARK_FENCE(p) fence_seq_cst(p)
#endif

bool awake[2];
byte ran;
bool cut; /* enough of this: the message lists are finite */

/* hdi_idle_wake_one(), for thread p. */
inline wake_one(p) {
  do
  :: load(p, PARKED, RELAXED, bits);
     if
     :: bits == 0 -> break
     :: else
     fi;
     who = (HAS(bits, 0) -> 0 : 1);
     exchange(p, PARKED, bits, WITHOUT(bits, who), ACQ_REL);
     if
     :: HAS(bits, who) ->
        exchange(p, SEARCHING, bits, bits + 1, ACQ_REL);
        awake[who] = 1;
        break
     :: else
     fi
  od;
  bits = 0; who = 0
}

proctype worker(byte p) {
  byte work, bits, who, naps;
  bool ok;
#define ME (p - 1)

again:
  if
  :: ran == JOBS || cut -> goto rest
  :: else
  fi;
  exchange(p, SEARCHING, bits, bits + 1, ACQ_REL);
  bits = 0;

search:
  load(p, WORK, ACQUIRE, work);
  if
  :: work > 0 ->
     compare_exchange(p, WORK, work, work - 1, ACQ_REL, ok);
     if
     :: !ok -> work = 0; goto search
     :: else
     fi;
     work = 0; ok = 0;
     /* stop_searching() */
     exchange(p, SEARCHING, bits, bits - 1, ACQ_REL);
#ifndef LEAVE_SILENTLY
     if
     :: bits <= ZERO + 1 ->
        TELL_FENCE(p);
        load(p, WORK, RELAXED, work);
        if
        :: work > 0 -> wake_one(p)
        :: else
        fi;
        work = 0
     :: else
     fi;
#endif
     bits = 0;
     ran++;
#if WORKERS == 2
     /* This job waits for the other: somebody else must hear of that one. */
     (ran == JOBS || cut);
#endif
     goto again
  :: else
  fi;

  /* park() */
  if
  :: naps == 2 -> cut = 1; goto rest
  :: else -> naps++
  fi;
#ifdef LOOK_FIRST
  load(p, WORK, RELAXED, work);
#endif
  awake[ME] = 0;
  exchange(p, PARKED, bits, bits | BIT(ME), ACQ_REL);
  exchange(p, SEARCHING, bits, bits - 1, ACQ_REL);
  bits = 0;
  PARK_FENCE(p);
#ifndef LOOK_FIRST
  load(p, WORK, RELAXED, work);
#endif
  if
  :: work == 0 ->
     (awake[ME] || ran == JOBS || cut)
  :: else
  fi;
  work = 0;
  exchange(p, PARKED, bits, WITHOUT(bits, ME), ACQ_REL);
  if
  :: HAS(bits, ME) -> exchange(p, SEARCHING, bits, bits + 1, ACQ_REL)
  :: else
  fi;
  bits = 0;
  if
  :: ran == JOBS || cut -> goto rest
  :: else -> goto search
  fi;

rest:
  skip
}

proctype outside() {
  byte old, bits, who, jobs;
  do
  :: jobs < JOBS ->
     jobs++;
     exchange(0, WORK, old, old + 1, RELEASE);
     TELL_FENCE(0);
     load(0, SEARCHING, RELAXED, old);
     if
     :: old <= ZERO -> wake_one(0)
     :: else
     fi;
     old = 0
  :: else -> break
  od
}

init {
  start_memory();
  start_value(SEARCHING, ZERO);
#if WORKERS == 1
  atomic { run worker(1); run outside() }
#else
  atomic { run worker(1); run worker(2); run outside() }
#endif
}
