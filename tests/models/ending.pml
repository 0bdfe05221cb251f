/* A pool that stops (finish() and park() in src/steal/worker/working.c, and
 * hd_pool_destroy()): what was handed in before runs, and all go home.
 *
 * A thread hands in jobs, then stops the pool. The first job hands in one more
 * from its worker. Parking itself is parking.pml's; here it counts who is awake,
 * and that the last to lie down ends the pool. */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef JOBS
#define JOBS 1
#endif
#define LOCATIONS 6
#define MESSAGES 24
#define THREADS 3
#include "memory.pml"

#define WORK 0
#define PARKED 1    /* bits */
#define SEARCHING 2 /* plus ZERO */
#define AWAKE 3     /* workers */
#define STOPPING 4
#define FINISHED 5
#define ZERO 8
#define BIT(i) (1 << (i))
#define HAS(bits, i) (((bits) >> (i)) & 1)
#define WITHOUT(bits, i) ((bits) & (255 - BIT(i)))
#define ALL (JOBS + 1) /* with the one from inside */

bool awake[2];
byte ran, home;

inline wake(p, who) {
  exchange(p, PARKED, bits, WITHOUT(bits, who), ACQUIRE);
  if
  :: HAS(bits, who) ->
     exchange(p, SEARCHING, bits, bits + 1, RELAXED);
     awake[who] = 1
  :: else
  fi;
  bits = 0
}

/* hdi_pool_tell(), for thread p. */
inline tell(p) {
  fence_seq_cst(p);
  load(p, SEARCHING, RELAXED, bits);
  if
  :: bits <= ZERO ->
     load(p, PARKED, RELAXED, bits);
     if
     :: HAS(bits, 0) -> wake(p, 0)
     :: !HAS(bits, 0) && HAS(bits, 1) -> wake(p, 1)
     :: else
     fi
  :: else
  fi;
  bits = 0
}

inline wake_all(p) {
#ifndef END_UNFENCED
  fence_seq_cst(p);
#endif
  load(p, PARKED, RELAXED, bits);
  if
  :: HAS(bits, 0) -> wake(p, 0)
  :: else
  fi;
  load(p, PARKED, RELAXED, bits);
  if
  :: HAS(bits, 1) -> wake(p, 1)
  :: else
  fi;
  bits = 0
}

proctype worker(byte p) {
  byte x, bits;
  bool ok, sleep;
#define ME (p - 1)

search:
  load(p, FINISHED, ACQUIRE, x);
  if
  :: x -> goto leave
  :: else
  fi;
  load(p, WORK, RELAXED, x);
  if
  :: x > 0 ->
     atomic { /* under the inbox's lock */
       if
       :: NEWEST(WORK) > 0 -> ok = 1; exchange(p, WORK, x, x - 1, ACQ_REL)
       :: else -> exchange(p, WORK, x, x, ACQ_REL)
       fi
     };
     x = 0;
     if
     :: ok ->
        ok = 0;
        exchange(p, SEARCHING, bits, bits - 1, RELAXED);
        if
        :: bits <= ZERO + 1 ->
           fence_seq_cst(p);
           load(p, WORK, RELAXED, x);
           if
           :: x -> tell(p)
           :: else
           fi;
           x = 0
        :: else
        fi;
        bits = 0;
        ran++;
        if
        :: ran == 1 -> exchange(p, WORK, x, x + 1, RELEASE); tell(p)
        :: else
        fi;
        x = 0;
        exchange(p, SEARCHING, bits, bits + 1, RELAXED);
        bits = 0;
        goto search
     :: else
     fi
  :: else
  fi;

  /* park() */
  exchange(p, AWAKE, x, x - 1, ACQ_REL);
  awake[ME] = 0;
  exchange(p, PARKED, bits, bits | BIT(ME), RELEASE);
  exchange(p, SEARCHING, bits, bits - 1, RELAXED);
  bits = 0;
  fence_seq_cst(p);
  sleep = 1;
  load(p, FINISHED, RELAXED, x);
  if
  :: x -> sleep = 0
  :: else ->
     load(p, WORK, RELAXED, x);
     if
     :: x > 0 -> sleep = 0
     :: else -> /* finish() */
        load(p, STOPPING, ACQUIRE, x);
#ifndef BLIND
        if
        :: x ->
#ifdef AWAKE_FIRST
           load(p, AWAKE, RELAXED, bits);
#endif
           load(p, WORK, RELAXED, x);
           x = (x == 0)
        :: else
        fi;
        fence_seq_cst(p);
#endif
        if
        :: x ->
#ifndef AWAKE_FIRST
           load(p, AWAKE, RELAXED, bits);
#endif
           x = (bits == 0);
           bits = 0
        :: else
        fi;
        if
        :: x ->
           store(p, FINISHED, 1, RELEASE);
           wake_all(p);
           sleep = 0
        :: else
        fi;
        bits = 0
     fi
  fi;
  x = 0;
  if
  :: sleep -> awake[ME]
  :: else
  fi;
  exchange(p, AWAKE, x, x + 1, ACQ_REL);
  exchange(p, PARKED, bits, WITHOUT(bits, ME), ACQUIRE);
  if
  :: HAS(bits, ME) -> exchange(p, SEARCHING, bits, bits + 1, RELAXED)
  :: else
  fi;
  x = 0;
  bits = 0;
  sleep = 0;
  goto search;

leave:
  home++
}

proctype outside() {
  byte old, bits, jobs;
  do
  :: jobs < JOBS ->
     jobs++;
     exchange(0, WORK, old, old + 1, RELEASE);
     old = 0;
     tell(0)
  :: else -> break
  od;
  store(0, STOPPING, 1, RELEASE);
  wake_all(0);
  home == WORKERS;
  assert(ran == ALL)
}

init {
  start_memory();
  start_value(SEARCHING, ZERO + WORKERS);
  start_value(AWAKE, WORKERS);
  atomic {
    run worker(1);
#if WORKERS == 2
    run worker(2);
#endif
    run outside()
  }
}
