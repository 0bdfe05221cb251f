/* Fewer workers while the pool runs (src/steal/pool/home.c): a worker that is not
 * wanted goes home, and no job is left beside those who sleep; wanted again, it
 * comes.
 *
 * Worker 2 is sent home, and with AGAIN called back, while a thread outside hands
 * in a job and worker 1 stays. When all have come to rest, the job must have run
 * and worker 2 be where it should. Parking itself is parking.pml's.
 *
 * The whole is too large for weak memory, so that is checked in two halves: ALONE
 * is worker 2 and who sends it, without a job; NAPPING is worker 2 on its way, and
 * worker 1 in bed, when the job comes. */
#define LOCATIONS 4
#define MESSAGES 24
#define THREADS 4
#include "memory.pml"

#define WORK 0
#define PARKED 1    /* bits */
#define SEARCHING 2 /* plus ZERO */
#define WANTED 3    /* worker 2 */
#define ZERO 8
#define OUTSIDE 0
#define RESIZER 3
#define BIT(p) (1 << (p - 1))
#define HAS(bits, p) (((bits) >> (p - 1)) & 1)
#define WITHOUT(bits, p) ((bits) & (255 - BIT(p)))

#ifdef PARK_UNFENCED
#define PARK_FENCE(p) skip
#else
#define PARK_FENCE(p) fence_seq_cst(p)
#endif
#ifdef LEAVE_UNFENCED
#define LEAVE_FENCE(p) skip
#else
#define LEAVE_FENCE(p) fence_seq_cst(p)
#endif
#ifdef TELL_UNFENCED
#define TELL_FENCE(p) skip
#else
#define TELL_FENCE(p) fence_seq_cst(p)
#endif
#ifdef SEND_UNFENCED
#define SEND_FENCE skip
#else
#define SEND_FENCE fence_seq_cst(RESIZER)
#endif

bool awake[3], at_home, asleep; /* in bed; worker 2, at home */
byte ran;

inline wake(p, who) {
  load(p, PARKED, RELAXED, bits);
  if
  :: HAS(bits, who) ->
     exchange(p, PARKED, bits, WITHOUT(bits, who), ACQUIRE);
     if
     :: HAS(bits, who) ->
        exchange(p, SEARCHING, bits, bits + 1, RELAXED);
        awake[who] = 1
     :: else
     fi
  :: else
  fi;
  bits = 0
}

/* hdi_pool_tell() */
inline tell(p) {
  TELL_FENCE(p);
  load(p, SEARCHING, RELAXED, bits);
  if
  :: bits <= ZERO ->
     load(p, PARKED, RELAXED, bits);
     if
     :: HAS(bits, 1) -> wake(p, 1)
     :: !HAS(bits, 1) && HAS(bits, 2) -> wake(p, 2)
     :: else
     fi
  :: else
  fi;
  bits = 0
}

proctype worker(byte p) {
  byte x, bits;
  bool ok;

#ifdef NAPPING
  if
  :: p == 1 -> goto nap
  :: else
  fi;
#endif
search:
  if
  :: p == 2 ->
     load(p, WANTED, ACQUIRE, x);
     if
     :: x == 0 -> goto leave
     :: else
     fi
  :: else
  fi;
  load(p, WORK, RELAXED, x);
  if
  :: x > 0 -> compare_exchange(p, WORK, x, x - 1, ACQ_REL, ok)
  :: else
  fi;
  if
  :: ok -> ok = 0; x = 0; ran++; goto search
  :: else
  fi;

  awake[p] = 0;
  exchange(p, PARKED, bits, bits | BIT(p), RELEASE);
  exchange(p, SEARCHING, bits, bits - 1, RELAXED);
  bits = 0;
  PARK_FENCE(p);
  if
  :: p == 2 -> load(p, WANTED, ACQUIRE, x); x = (x == 0)
  :: else -> x = 0
  fi;
  if
  :: x == 0 -> load(p, WORK, RELAXED, x)
  :: else
  fi;
  if
  :: x == 0 ->
nap:
end_bed: awake[p]
  :: else
  fi;
  x = 0;
  exchange(p, PARKED, bits, WITHOUT(bits, p), ACQUIRE);
  if
  :: HAS(bits, p) -> exchange(p, SEARCHING, bits, bits + 1, RELAXED)
  :: else
  fi;
  bits = 0;
  goto search;

leave: /* stop_searching() */
  exchange(p, SEARCHING, bits, bits - 1, RELAXED);
#ifndef LEAVE_SILENTLY
  if
  :: bits <= ZERO + 1 ->
     LEAVE_FENCE(p);
     load(p, WORK, RELAXED, x);
     if
     :: x > 0 -> tell(p)
     :: else
     fi
  :: else
  fi;
#endif
  at_home = 1;
  do
  :: exchange(p, WANTED, x, x, ACQUIRE);
     if
     :: x -> break
     :: else
     fi;
#ifdef HOME_BLIND /* asleep though it was wanted just now */
     asleep = 1;
#else
     atomic {
       if
       :: NEWEST(WANTED) == 0 -> asleep = 1
       :: else
       fi
     };
#endif
end_home: !asleep
  od;
  at_home = 0;
  exchange(p, SEARCHING, bits, bits + 1, RELAXED);
  x = 0;
  bits = 0;
  goto search
}

proctype outside() {
  byte x, bits;
  exchange(OUTSIDE, WORK, x, x + 1, RELEASE);
  x = 0;
  tell(OUTSIDE)
}

proctype resizer() {
  byte bits;
  store(RESIZER, WANTED, 0, RELEASE);
  SEND_FENCE;
  wake(RESIZER, 2);
#ifdef AGAIN
  store(RESIZER, WANTED, 1, RELEASE);
#ifndef WANT_SILENTLY
  asleep = 0
#endif
#endif
}

/* When nothing else can go on. */
proctype rest() {
  timeout;
  assert(ran == 1);
#ifdef AGAIN
  assert(!at_home)
#else
  assert(at_home)
#endif
}

init {
  start_memory();
#ifndef NAPPING
  start_value(WANTED, 1);
#endif
#ifdef ALONE
  start_value(SEARCHING, ZERO + 1);
  ran = 1;
#else
#ifdef NAPPING
  start_value(SEARCHING, ZERO + 1);
  start_value(PARKED, BIT(1));
#else
  start_value(SEARCHING, ZERO + 2);
#endif
#endif
  atomic {
    run worker(2); run rest();
#ifndef NAPPING
    run resizer();
#endif
#ifndef ALONE
    run worker(1); run outside();
#endif
  }
}
