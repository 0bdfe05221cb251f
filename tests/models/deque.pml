/* The job deque (src/steal/queue/deque.c), with its fences: one owner that pushes,
 * pops and grows the ring, thieves that steal. Every job comes out once. */
#ifndef STEALS
#define STEALS 2
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#define LOCATIONS 6
#define MESSAGES 8
#define THREADS 3
#include "memory.pml"

#define TOP 0
#define BOTTOM 1
#define RING 2
/* Ring 0 has one slot, ring 1 has two. */
#define SLOT(ring, i) (3 + (ring) + (ring) * ((i) % 2))
#define MASK(ring) (ring)
#ifndef JOBS
#define JOBS 3
#endif

#ifdef RING_RELAXED
#define RING_WRITE RELAXED
#define RING_READ RELAXED
#else
#define RING_WRITE RELEASE
#define RING_READ ACQUIRE
#endif

byte taken[JOBS + 1];
byte finished;

inline got(job) {
  assert(job >= 1 && job <= JOBS);
  taken[job]++;
  assert(taken[job] == 1)
}

proctype thief(byte p) {
  byte tries, t, b, r, job;
  bool ok;
  do
  :: tries < STEALS ->
     tries++;
     load(p, TOP, ACQUIRE, t);
#ifndef STEAL_UNFENCED
     fence_seq_cst(p);
#endif
#ifdef BOTTOM_RELAXED
     load(p, BOTTOM, RELAXED, b);
#else
     load(p, BOTTOM, ACQUIRE, b);
#endif
     if
     :: t < b ->
        load(p, RING, RING_READ, r);
        load(p, SLOT(r, t), RELAXED, job);
        compare_exchange(p, TOP, t, t + 1, ACQ_REL, ok);
        if
        :: ok -> got(job)
        :: else
        fi
     :: else
     fi;
     t = 0; b = 0; r = 0; job = 0; ok = 0
  :: else -> break
  od;
  finished++
}

inline push(job) {
  load(0, BOTTOM, RELAXED, b);
  load(0, TOP, ACQUIRE, t);
  load(0, RING, RELAXED, r);
  if
  :: b - t > MASK(r) ->
     assert(r == 0);
     i = t;
     do
     :: i < b ->
        load(0, SLOT(0, i), RELAXED, x);
        store(0, SLOT(1, i), x, RELAXED);
        i++
     :: else -> break
     od;
     store(0, RING, 1, RING_WRITE);
#ifndef STALE_RING
     r = 1;
#endif
     i = 0; x = 0
  :: else
  fi;
  store(0, SLOT(r, b), job, RELAXED);
#ifndef PUSH_UNFENCED
  fence(0, RELEASE);
#endif
  store(0, BOTTOM, b + 1, RELAXED);
  b = 0; t = 0; r = 0
}

/* `bottom` starts at 1, so that bytes do for b - 1. */
inline pop() {
  load(0, BOTTOM, RELAXED, b);
  b--;
  load(0, RING, RELAXED, r);
  load(0, TOP, RELAXED, t);
  x = 0;
  if
  :: t > b
  :: else ->
     store(0, BOTTOM, b, RELAXED);
#ifndef POP_UNFENCED
     fence_seq_cst(0);
#endif
     load(0, TOP, RELAXED, t);
     if
     :: t <= b ->
        load(0, SLOT(r, b), RELAXED, x);
        if
        :: t == b ->
#ifdef LAST_UNRACED
           store(0, TOP, t + 1, RELEASE);
           ok = 1;
#else
           compare_exchange(0, TOP, t, t + 1, ACQ_REL, ok);
#endif
           if
           :: !ok -> x = 0
           :: else
           fi;
           store(0, BOTTOM, b + 1, RELAXED)
        :: else
        fi
     :: else -> store(0, BOTTOM, b + 1, RELAXED)
     fi
  fi;
  if
  :: x > 0 -> got(x)
  :: else
  fi;
  b = 0; t = 0; r = 0; x = 0; ok = 0
}

proctype owner() {
  byte b, t, r, i, x;
  bool ok;
  push(1);
  push(2);
  pop();
#if JOBS > 2
  push(3);
  pop();
#endif
  pop();
  finished++
}

init {
  byte i, jobs;
  start_memory();
  start_value(TOP, 1);
  start_value(BOTTOM, 1);
  atomic {
    run owner();
    do
    :: i < THIEVES -> i++; run thief(i)
    :: else -> break
    od
  }
  finished == THIEVES + 1;
  do
  :: jobs < JOBS -> jobs++; assert(taken[jobs] == 1)
  :: else -> break
  od
}
