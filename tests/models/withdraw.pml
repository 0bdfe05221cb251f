/* Cancelling an event that gets ready, is queued and run at the same time
 * (get_ready() and run_one() in src/steal/event/progress.c, hd_event_cancel() in
 * handle.c): it is run or cancelled, ends once, and its record goes once, after
 * the queue has let go of it. */
#define LOCATIONS 3
#define MESSAGES 8
#define THREADS 3
#include "memory.pml"

#define PHASE 0
#define WAITS 0
#define READY 1
#define RUNS 2
#define ENDED 3
#define LIFE 1  /* references: its start, its end, and the canceller's */
#define DROPPED 2 /* what it held was given up */
#define BEFORE 0 /* who ends what it comes after */
#define WORKER 1
#define CANCELLER 2

bool queued, gone, decided;
byte ends, runs, finished;

inline let_go(me, n, x) {
  assert(!gone);
  exchange(me, LIFE, x, x - n, ACQ_REL);
  if
  :: x == n ->
     gone = 1;
     assert(ends == 1);
     load(me, DROPPED, RELAXED, x);
     assert(x == 1)
  :: else
  fi
}

inline end(me, n, x) {
  ends++;
  assert(ends == 1);
  store(me, DROPPED, 1, RELAXED);
  let_go(me, n, x)
}

proctype before() {
  bool ok;
  byte x;
  compare_exchange(BEFORE, PHASE, WAITS, READY, ACQ_REL, ok);
  if
  :: ok -> queued = 1
  :: else -> let_go(BEFORE, 1, x)
  fi;
  decided = 1;
  finished++
}

proctype worker() {
  bool ok;
  byte x;
  decided;
  if
  :: queued ->
     assert(!gone);
#ifdef RUN_BLINDLY
     store(WORKER, PHASE, RUNS, RELEASE);
     ok = 1;
#else
     compare_exchange(WORKER, PHASE, READY, RUNS, ACQ_REL, ok);
#endif
     if
     :: ok ->
        load(WORKER, DROPPED, RELAXED, x);
        assert(x == 0); /* it has what it holds */
        runs++;
        store(WORKER, PHASE, ENDED, RELAXED);
        end(WORKER, 2, x)
     :: else -> let_go(WORKER, 1, x)
     fi
  :: else
  fi;
  finished++
}

proctype canceller() {
  bool ok;
  byte x;
#ifdef CANCEL_IN_STEPS
  load(CANCELLER, PHASE, ACQUIRE, x);
  ok = (x < RUNS);
  if
  :: ok -> store(CANCELLER, PHASE, ENDED, RELEASE)
  :: else
  fi;
#else
  compare_exchange(CANCELLER, PHASE, WAITS, ENDED, ACQ_REL, ok);
  if
  :: !ok -> compare_exchange(CANCELLER, PHASE, READY, ENDED, ACQ_REL, ok)
  :: else
  fi;
#endif
  if
#ifdef DROP_START
  :: ok -> end(CANCELLER, 3, x)
#else
  :: ok -> end(CANCELLER, 2, x)
#endif
  :: else -> let_go(CANCELLER, 1, x)
  fi;
  finished++
}

init {
  start_memory();
  start_value(LIFE, 3);
  atomic { run before(); run worker(); run canceller() };
  finished == 3;
  assert(ends == 1 && runs <= 1 && gone)
}
