/* Gangs of as many members as there are workers (src/steal/worker/lineup.c): all or none
 * of a gang starts, gangs that start at the same time all do in the end, and what
 * ends before it starts leaves nobody behind.
 *
 * The members of a gang wait for each other, as work that exchanges data does:
 * one that runs alone never ends, and Spin finds an invalid end state. A member
 * of the second gang may fail instead, which ends the other. With CANCEL the
 * first gang is cancelled at any moment; with BUSY, too, no worker ever comes
 * free. With PLACED each gang is of one member that suits one worker.
 *
 * One lock guards the line; views pass from who unlocks to who locks. What is
 * read without it are the number of gangs that wait, who is parked, and the
 * groups' fates. */
#ifndef GANGS
#define GANGS 2
#endif
#ifndef MEMBERS
#define MEMBERS 2
#endif
#define LOCATIONS (2 + GANGS)
#define MESSAGES 16
#define THREADS (3 + GANGS)
#include "memory.pml"

#define WAITING 0 /* gangs in the line */
#define PARKED 1  /* bit p: worker p */
#define FATE(g) (2 + (g))

#define CALLER(g) (2 + (g))
#define CANCELLER (2 + GANGS)
#define NONE 9

#ifdef PLACED /* gang g is of one, on worker g */
#define WANTED(p, g) ((g) == (p))
#else
#define WANTED(p, g) ((g) != NONE)
#endif

#ifdef STAND_UNFENCED
#define stand_fence(p) skip
#else
#define stand_fence(p) fence_seq_cst(p)
#endif
#ifdef TELL_UNFENCED
#define tell_fence(p) skip
#else
#define tell_fence(p) fence_seq_cst(p)
#endif
#ifdef PARK_UNFENCED
#define park_fence(p) skip
#else
#define park_fence(p) fence_seq_cst(p)
#endif

bool held;           /* the lock */
byte changed;        /* how often the condition was told */
byte first = NONE, last = NONE;
bool started[2], given_up[2], gone[2];
byte kept[2], arrived[2], left[2];
bool awake[2];

#ifdef STRONG_MEMORY
#define lock(p) atomic { !held -> held = 1 }
#define unlock(p) held = 0
#else
byte passed_on[LOCATIONS];
inline lock(p) {
  atomic {
    !held -> held = 1;
    k_ = 0;
    do
    :: k_ < LOCATIONS -> raise_(threads[p].now[k_], passed_on[k_]); k_++
    :: else -> break
    od;
    k_ = 0
  }
}
inline unlock(p) {
  d_step {
    k_ = 0;
    do
    :: k_ < LOCATIONS -> raise_(passed_on[k_], threads[p].now[k_]); k_++
    :: else -> break
    od;
    k_ = 0;
    held = 0
  }
}
#endif

inline broadcast() { changed++ }
inline await_change(p) {
  atomic { seen = changed; unlock(p) };
  changed != seen;
  seen = 0;
  lock(p)
}

/* With the lock. */
inline call_workers(p) {
  stand_fence(p);
  load(p, PARKED, RELAXED, x);
  if
  :: x & 1 -> awake[0] = 1
  :: else
  fi;
  if
  :: x & 2 -> awake[1] = 1
  :: else
  fi;
  x = 0
}

/* A line of two at most. */
inline leave_line(p, g) {
  if
  :: first == g -> first = (last == g -> NONE : last)
  :: else -> last = first
  fi;
  last = first;
  exchange(p, WAITING, x, x - 1, ACQ_REL);
  x = 0;
  broadcast();
#ifndef LEAVE_SILENTLY
  if
  :: first != NONE -> call_workers(p)
  :: else
  fi
#endif
}

proctype worker(byte p) {
  byte x, g, seen;
search:
  load(p, WAITING, RELAXED, x);
  if
  :: x == 0 -> goto park
  :: else
  fi;
attend:
  x = 0;
  lock(p);
#ifdef KEPT_FOR_ALL /* for any gang, not for the first alone */
  if
  :: g = first
  :: last != NONE -> g = last
  fi;
#else
  g = first;
#endif
  if
  :: !WANTED(p, g) -> unlock(p); goto park
  :: else
  fi;
  kept[g]++;
  if
#ifdef START_SHORT
  :: kept[g] == 1 ->
#else
  :: kept[g] == MEMBERS ->
#endif
     started[g] = 1;
     leave_line(p, g)
  :: else
  fi;
  do
  :: started[g] || given_up[g] -> break
  :: else -> await_change(p); assert(!gone[g])
  od;
  if
  :: started[g] -> unlock(p)
  :: else ->
     kept[g]--;
     if
     :: kept[g] == 0 -> broadcast()
     :: else
     fi;
     unlock(p);
     goto search
  fi;

  /* The member. */
  assert(!gone[g]);
  load(p, FATE(g), RELAXED, x);
  if
  :: x -> skip
  :: x == 0 && g == 1 -> exchange(p, FATE(g), x, 1, ACQ_REL) /* it fails */
  :: x == 0 ->
     arrived[g]++;
#ifdef FAIL_SILENTLY
     arrived[g] == MEMBERS
#else
     arrived[g] == MEMBERS || NEWEST(FATE(g)) == 1
#endif
  fi;
  x = 0;
  atomic {
    assert(started[g] && kept[g] == MEMBERS);
    left[g]++ /* the last touch of the gang */
  };
  goto search;

park:
  awake[p] = 0;
  exchange(p, PARKED, x, x | (1 << p), RELEASE);
  park_fence(p);
  load(p, WAITING, RELAXED, x);
  if
  :: x > 0 -> lock(p); x = WANTED(p, first); unlock(p)
  :: else
  fi;
  if
  :: x == 0 ->
end_bed:
     awake[p]
  :: else
  fi;
  exchange(p, PARKED, x, x & ~(1 << p), ACQUIRE);
  x = 0;
  goto search
}

proctype caller(byte g) {
  byte x, seen;
  bool cancelled;
  lock(CALLER(g));
  if
  :: first == NONE -> first = g
  :: else
  fi;
  last = g;
  exchange(CALLER(g), WAITING, x, x + 1, ACQ_REL);
  x = 0;
  stand_fence(CALLER(g));
  if
  :: first == g -> call_workers(CALLER(g))
  :: else
  fi;
  do
  :: started[g] -> break
  :: else ->
     load(CALLER(g), FATE(g), RELAXED, x);
     cancelled = x;
     x = 0;
     if
     :: cancelled -> break
     :: else -> await_change(CALLER(g))
     fi
  od;
  if
  :: !started[g] ->
     given_up[g] = 1;
     leave_line(CALLER(g), g);
#ifndef GO_AT_ONCE
     do
     :: kept[g] == 0 -> break
     :: else -> await_change(CALLER(g))
     od;
#endif
     assert(left[g] == 0); /* nobody has run */
     unlock(CALLER(g))
  :: else ->
     unlock(CALLER(g));
     left[g] == MEMBERS
  fi;
  gone[g] = 1
}

proctype canceller() {
  byte x;
  exchange(CANCELLER, FATE(0), x, 1, ACQ_REL);
  tell_fence(CANCELLER);
  load(CANCELLER, WAITING, RELAXED, x);
  if
  :: x > 0 ->
     lock(CANCELLER);
     broadcast();
     unlock(CANCELLER)
  :: else
  fi
}

init {
  start_memory();
  atomic {
    run caller(0);
#ifndef BUSY
    run worker(0);
#if MEMBERS == 2 || defined(PLACED)
    run worker(1);
#endif
#endif
#if GANGS == 2
    run caller(1);
#endif
#ifdef CANCEL
    run canceller()
#endif
  }
}
