/* A node's queue is an interval in one word (hdi_node_take() in
 * src/field/cluster/slot.c): the owner raises its first task, thieves lower its
 * last, here by one at a time, by compare-and-swap; whoever has written a task's result adds to `done`
 * (release), and the owner, who sees all done (acquire), reads the results
 * (close_output() in run.c, await_results() in forall.c). Every task is taken
 * once, and every result is there. */
#define LOCATIONS 5
#define MESSAGES 8
#define THREADS 3
#include "memory.pml"

#define TASKS 3
#define RANGE 0 /* first * 8 + last */
#define DONE 1
#define RESULT(k) (2 + (k))

#ifndef DONE_ORDER
#define DONE_ORDER RELEASE
#endif
#ifndef SEEN_ORDER
#define SEEN_ORDER ACQUIRE
#endif

byte taken[TASKS];
byte finished;

/* Take a task into k; TASKS when there is none. */
inline take(who, bottom) {
  load(who, RANGE, RELAXED, x);
  do
  :: (x / 8) == (x % 8) -> k = TASKS; break
  :: else ->
     n = x + 8;
     if
     :: bottom -> n = x - 1
     :: else
     fi;
#ifdef IN_STEPS
     load(who, RANGE, RELAXED, x);
     if
     :: (x / 8) == (x % 8) -> k = TASKS
     :: else ->
        k = x / 8;
        n = x + 8;
        if
        :: bottom -> k = (x % 8) - 1; n = x - 1
        :: else
        fi;
        store(who, RANGE, n, RELAXED)
     fi;
     break
#else
     compare_exchange(who, RANGE, x, n, RELAXED, won);
     if
     :: won ->
        k = x / 8;
        if
        :: bottom -> k = (x % 8) - 1
        :: else
        fi;
        break
     :: else -> load(who, RANGE, RELAXED, x)
     fi
#endif
  od;
  x = 0; n = 0
}

/* Write a result and count it. */
inline finish(who, task) {
  store(who, RESULT(task), task + 1, RELAXED);
  exchange(who, DONE, x, x + 1, DONE_ORDER);
  x = 0
}

proctype owner() {
  byte x, k, n;
  bool won;
  do
  :: take(0, false);
     if
     :: k == TASKS -> break
     :: else ->
        taken[k]++;
        finish(0, k)
     fi
  od;
  /* Wait for what was stolen. */
  do
  :: load(0, DONE, SEEN_ORDER, x);
     if
     :: x == TASKS -> break
     :: else
     fi
  od;
  k = 0;
  do
  :: k < TASKS ->
     load(0, RESULT(k), RELAXED, x);
     assert(x == k + 1);
     assert(taken[k] == 1);
     k++
  :: else -> break
  od;
  finished++
}

proctype thief() {
  byte x, k, n;
  bool won;
  do
  :: take(_pid - 1, true);
     if
     :: k == TASKS -> break
     :: else ->
        taken[k]++;
        finish(_pid - 1, k)
     fi
  od;
  finished++
}

init {
  start_memory();
  start_value(RANGE, TASKS);
  atomic {
    run owner();
    run thief();
#if THIEVES == 2
    run thief()
#endif
  }
  finished == THIEVES + 1
}
