/* Falling asleep and being woken (src/steal/worker/idle.h): nobody sleeps beside work.
 *
 * Workers, and a thread that hands in jobs. When all have come to rest and a
 * job is left, Spin finds an invalid end state.
 *
 * The jobs are a count without order of its own: what parking needs it has to
 * bring along. The futex is the kernel's, whose lock orders who waits and who
 * wakes: a sleeper stays while the last store to its `awake` is 0. Which of two
 * stores is the last is open where nothing orders them (store_anywhere()). */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef JOBS
#define JOBS 2
#endif
#define LOCATIONS (3 + WORKERS)
#define MESSAGES 16
#define THREADS (1 + WORKERS)
#include "memory.pml"

#define WORK 0      /* jobs to be seen */
#define PARKED 1    /* bits */
#define SEARCHING 2 /* plus ZERO */
#define ZERO 8
#define AWAKE(i) (3 + (i))
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

byte ran;
bool cut; /* enough of this: the message lists are finite */

/* Nobody gets up in vain: who was woken sees the work that its waker saw. With one
 * wake-up only, as a late one of an earlier sleep tells of less. */
#if defined(STRONG_MEMORY) || JOBS > 1
#define promise_work(p, who) skip
#define forget_work(p) skip
#define expect_work(p) skip
#else
byte promised[WORKERS];
#define promise_work(p, who) promised[who] = threads[p].now[WORK]
#define forget_work(p) promised[p - 1] = 0
#define expect_work(p) assert(threads[p].now[WORK] >= promised[p - 1])
#endif

/* hdi_idle_wake_one(), for thread p. */
inline wake_one(p) {
  do
  :: load(p, PARKED, RELAXED, bits);
     if
     :: bits == 0 -> break
     :: else
     fi;
     who = (HAS(bits, 0) -> 0 : 1);
     exchange(p, PARKED, bits, WITHOUT(bits, who), ACQUIRE);
     if
     :: HAS(bits, who) ->
        exchange(p, SEARCHING, bits, bits + 1, RELAXED);
        atomic {
          store_anywhere(p, AWAKE(who), 1, RELAXED);
          promise_work(p, who)
        };
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
  exchange(p, SEARCHING, bits, bits + 1, RELAXED);
  bits = 0;

search:
  load(p, WORK, RELAXED, work);
  if
  :: work > 0 ->
     compare_exchange(p, WORK, work, work - 1, RELAXED, ok);
     if
     :: !ok -> work = 0; goto search
     :: else
     fi;
     work = 0; ok = 0;
     /* stop_searching() */
     exchange(p, SEARCHING, bits, bits - 1, RELAXED);
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
  atomic {
    store_anywhere(p, AWAKE(ME), 0, RELAXED);
    forget_work(p)
  };
  exchange(p, PARKED, bits, bits | BIT(ME), RELEASE);
  exchange(p, SEARCHING, bits, bits - 1, RELAXED);
  bits = 0;
  PARK_FENCE(p);
#ifndef LOOK_FIRST
  load(p, WORK, RELAXED, work);
#endif
  if
  :: work == 0 ->
     /* hdi_idle_sleep(): read, wait, read again */
     do
     :: load(p, AWAKE(ME), ACQUIRE, work);
        if
        :: work == 1 -> expect_work(p); break
        :: else
        fi;
        if
        :: NEWEST(AWAKE(ME)) == 1
        :: ran == JOBS || cut -> break
        fi
     od
  :: else
  fi;
  work = 0;
  /* clear() acquires here too; its own bit needs no order. */
  exchange(p, PARKED, bits, WITHOUT(bits, ME), RELAXED);
  if
  :: HAS(bits, ME) -> exchange(p, SEARCHING, bits, bits + 1, RELAXED)
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
     exchange(0, WORK, old, old + 1, RELAXED);
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
