/* The mailbox (src/backend/mailbox.h): a worker that hands over tasks and reads
 * results, a unit of two cores with its barrier, and giving the unit up.
 *
 * A task that runs has the values of its own number, a result that is read is
 * that of its own task, and a task that the worker was told will never run has
 * not and does not. Everything crosses by relaxed loads and stores and fences;
 * the barrier inside the unit is a read-modify-write of its own memory.
 *
 * SLOTS is the ring (1 with DOORBELL), TASKS how many are handed over; with
 * GIVE_UP the worker may give the unit up at any moment. */
#ifndef TASKS
#define TASKS 3
#endif
#ifdef DOORBELL
#define SLOTS 1
#else
#ifndef SLOTS
#define SLOTS 2
#endif
#endif
#define LOCATIONS 15
#define MESSAGES 9
#define THREADS 3
#include "memory.pml"

#define ANSWER 0    /* `done`; not with DOORBELL */
#define STARTED 1
#define GIVEN_UP 2
#define BARRIER 3   /* arrivals, all rounds */
#define LOCAL 4     /* the primary core's copy of the task */
#define CODE 5      /* of the second core's part, unit-local */
#define LEAVE 6     /* unit-local: the cores go home */
#define BELL(n) (7 + (n) % SLOTS)
#define TASK(n) (9 + (n) % SLOTS)
#define SHAPE(n) (11 + (n) % SLOTS)
#define RESULT(n) (13 + (n) % SLOTS)

#ifdef DOORBELL
#define RUNG(n) 1
#else
#define RUNG(n) (n)
#endif

#define WORKER 0
#define PRIMARY 1
#define SECOND 2

#ifdef SUBMIT_UNFENCED
#define fence_2 skip
#else
#define fence_2 fence(WORKER, RELEASE)
#endif
#ifdef ANSWER_UNFENCED
#define fence_e skip
#else
#define fence_e fence(PRIMARY, RELEASE)
#endif
#ifdef READ_UNFENCED
#define fence_5 skip
#else
#define fence_5 fence(WORKER, ACQUIRE)
#endif
#ifdef TAKE_UNFENCED
#define fence_b skip
#else
#define fence_b fence(PRIMARY, ACQUIRE)
#endif
/* membarrier: a fence on every thread, at one moment. The unit's half is the
 * order of its program. */
#ifdef GIVE_UP_UNSETTLED
#define settle_worker skip
#else
#ifdef GIVE_UP_FENCED /* a fence of the worker's own */
#define settle_worker fence_seq_cst(WORKER)
#else
#define settle_worker atomic { fence_seq_cst(WORKER); fence_seq_cst(PRIMARY); \
                               fence_seq_cst(SECOND); fence_seq_cst(WORKER) }
#endif
#endif
#ifdef BARRIER_RELAXED
#define ARRIVE RELAXED
#define GO RELAXED
#else
#define ARRIVE ACQ_REL
#define GO ACQUIRE
#endif

#ifdef NO_ROOM /* a slot is written again before its results were read */
#define ROOM 1
#else
#define ROOM (submitted + 1 - oldest < SLOTS)
#endif

#define CONTENT(n) (10 + (n))
#define OUTCOME(n) (20 + (n))
/* Tasks 2 and 3 are of one launch. */
#define FORM(n) ((n) == 1 -> 30 : 31)
#ifdef RESHAPE_SELDOM /* the third is taken to be of the first one's */
#define RESHAPED(n) ((n) == 1)
#else
#define RESHAPED(n) ((n) < 3)
#endif

byte ran[TASKS + 1];
bool returned[TASKS + 1]; /* the worker was told that it will never run */

inline run_task(n) {
  assert(!returned[n]);
  ran[n]++;
  assert(ran[n] == 1)
}

/* Both cores arrive; `round` counts from 1. */
inline barrier(p, round) {
#ifndef NO_BARRIER
  exchange(p, BARRIER, seen, seen + 1, ARRIVE);
  do
  :: seen + 1 >= 2 * (round) -> break
  :: else ->
     load(p, BARRIER, GO, seen);
     if
     :: seen >= 2 * (round) -> break
     :: else -> seen = 0
     fi
  od;
  seen = 0
#else
  skip
#endif
}

proctype primary() {
  byte n = 1, x, seen, form;
  do
  :: n <= TASKS ->
     do
     :: load(PRIMARY, BELL(n), RELAXED, x); /* a */
        if
        :: x == RUNG(n) -> break
        :: else
        fi;
        load(PRIMARY, GIVEN_UP, RELAXED, x);
        if
        :: x == 1 -> goto leave
        :: else
        fi
     od;
     fence_b;
#ifndef LOOK_FIRST
     store(PRIMARY, STARTED, n, RELAXED);
#endif
     load(PRIMARY, GIVEN_UP, RELAXED, x);
     if
     :: x == 1 -> goto leave
     :: else
     fi;
#ifdef LOOK_FIRST /* before announcing it */
     store(PRIMARY, STARTED, n, RELAXED);
#endif
     load(PRIMARY, TASK(n), RELAXED, x); /* c */
     assert(x == CONTENT(n));
     if
     :: RESHAPED(n) -> load(PRIMARY, SHAPE(n), RELAXED, form)
     :: else
     fi;
     assert(form == FORM(n));
     store(PRIMARY, LOCAL, x, RELAXED);
     run_task(n);
     barrier(PRIMARY, 2 * n - 1);
     barrier(PRIMARY, 2 * n);
     load(PRIMARY, CODE, RELAXED, x);
     assert(x == OUTCOME(n));
     store(PRIMARY, RESULT(n), x, RELAXED); /* d */
     fence_e;
#ifdef DOORBELL
     store(PRIMARY, BELL(n), 0, RELAXED); /* f */
#else
     store(PRIMARY, ANSWER, n, RELAXED);
#endif
     n++;
     x = 0
  :: else -> goto done
  od;
leave:
  store(PRIMARY, LEAVE, 1, RELAXED);
  barrier(PRIMARY, 2 * n - 1);
done:
  skip
}

proctype second() {
  byte n = 1, x, seen;
  do
  :: n <= TASKS ->
     barrier(SECOND, 2 * n - 1);
     load(SECOND, LEAVE, RELAXED, x);
     if
     :: x == 1 -> break
     :: else
     fi;
     load(SECOND, LOCAL, RELAXED, x);
     assert(x == CONTENT(n));
     store(SECOND, CODE, OUTCOME(n), RELAXED);
     barrier(SECOND, 2 * n);
     n++;
     x = 0
  :: else -> break
  od
}

/* Look once for an answer; task `oldest` is the first without one. */
inline look() {
#ifdef DOORBELL
  load(WORKER, BELL(1), RELAXED, x); /* 4 */
  x = (x == 0 -> submitted : oldest - 1);
#else
  load(WORKER, ANSWER, RELAXED, x);
#endif
  if
  :: x >= oldest ->
     fence_5;
     do
     :: oldest <= x ->
        load(WORKER, RESULT(oldest), RELAXED, y); /* 6 */
        assert(y == OUTCOME(oldest));
        assert(ran[oldest] == 1);
        oldest++;
        y = 0
     :: else -> break
     od
  :: else
  fi;
  x = 0
}

inline clear(n) {
#ifdef DOORBELL
  store(WORKER, RESULT(n), 0, RELAXED)
#else
  skip
#endif
}

inline reshape(n) {
  if
  :: RESHAPED(n) -> store(WORKER, SHAPE(n), FORM(n), RELAXED)
  :: else
  fi
}

proctype worker() {
  byte submitted, oldest = 1, x, y;
  do
  :: submitted < TASKS && ROOM ->
#ifndef CLEAR_LATE
     clear(submitted + 1); /* 1 */
#endif
     store(WORKER, TASK(submitted + 1), CONTENT(submitted + 1), RELAXED);
#ifndef SHAPE_LATE
     reshape(submitted + 1);
#endif
     fence_2;
     store(WORKER, BELL(submitted + 1), RUNG(submitted + 1), RELAXED); /* 3 */
#ifdef CLEAR_LATE
     clear(submitted + 1);
#endif
#ifdef SHAPE_LATE
     reshape(submitted + 1);
#endif
     submitted++
  :: submitted >= oldest -> look()
  :: oldest > TASKS -> goto end_worker
#ifdef GIVE_UP
  :: submitted >= oldest ->
     store(WORKER, GIVEN_UP, 1, RELAXED);
     settle_worker;
     load(WORKER, STARTED, RELAXED, x);
     do
     :: submitted > x ->
        atomic { assert(ran[submitted] == 0); returned[submitted] = 1 };
        submitted--
     :: else -> break
     od;
     goto end_worker
#endif
  od;
end_worker:
  skip
}

init {
  start_memory();
  atomic {
    run worker();
    run primary();
    run second()
  }
}
