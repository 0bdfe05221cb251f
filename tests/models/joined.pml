/* A stolen task comes home (tell_joined(), park() and hd_join_slow_() in
 * src/steal/worker/working.c): its join does not sleep beside the result, and gets the
 * whole of it.
 *
 * The joiner parks until the task's state says that it is done; the thief says
 * so and wakes the joiner if it is parked. Meanwhile the joiner may be woken for
 * work that it does not find. */
#define LOCATIONS 3
#define MESSAGES 10
#define THREADS 3
#include "memory.pml"

#define STATE 0
#define RESULT 1
#define PARKED 2 /* the joiner's bit */
#define JOINER 0
#define THIEF 1
#define WAKER 2
#define DONE 1

#ifdef SAY_RELAXED
#define SAY RELAXED
#else
#define SAY RELEASE
#endif
#ifdef SEE_RELAXED
#define SEE RELAXED
#else
#define SEE ACQUIRE
#endif
#ifdef TELL_UNFENCED
#define TELL_FENCE skip
#else
#define TELL_FENCE fence_seq_cst(THIEF)
#endif
#ifdef PARK_UNFENCED
#define PARK_FENCE skip
#else
#define PARK_FENCE fence_seq_cst(JOINER)
#endif

bool awake;

/* hdi_idle_wake(): a look, then the exchange that one of all wins. */
inline wake(p) {
  load(p, PARKED, RELAXED, x);
  if
  :: x ->
     exchange(p, PARKED, x, 0, ACQUIRE);
     if
     :: x -> awake = 1
     :: else
     fi
  :: else
  fi;
  x = 0
}

proctype thief() {
  byte x;
  store(THIEF, RESULT, 7, RELAXED);
#ifdef WAKE_FIRST
  TELL_FENCE;
  wake(THIEF);
#endif
  store(THIEF, STATE, DONE, SAY);
#ifndef WAKE_FIRST
  TELL_FENCE;
  wake(THIEF)
#endif
}

/* Somebody who has work for whoever is parked. */
proctype waker() {
  byte x;
  fence_seq_cst(WAKER);
  wake(WAKER)
}

proctype joiner() {
  byte x;
  do
  :: load(JOINER, STATE, SEE, x);
     if
     :: x == DONE -> break
     :: else
     fi;
#ifdef LOOK_FIRST
     load(JOINER, STATE, SEE, x);
#endif
     awake = 0;
     exchange(JOINER, PARKED, x, 1, RELEASE);
     x = 0;
     PARK_FENCE;
#ifndef LOOK_FIRST
     load(JOINER, STATE, SEE, x);
#endif
     if
     :: x != DONE -> awake
     :: else
     fi;
     exchange(JOINER, PARKED, x, 0, ACQUIRE);
     x = 0
  od;
  load(JOINER, RESULT, RELAXED, x);
  assert(x == 7)
}

init {
  start_memory();
  atomic { run thief(); run waker(); run joiner() }
}
