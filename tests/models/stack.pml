/* Publication in the task stack (src/steal/queue/stack.h): an owner that publishes,
 * takes back and joins, thieves that take.
 *
 * Every task runs once, with the arguments of its last publication, and a join
 * gets the result of its own task. The record's content is read and written
 * relaxed: where that can go wrong, the plain accesses of C would race. */
#ifndef THIEVES
#define THIEVES 2
#endif
#define LOCATIONS 5
#define MESSAGES 12
#define THREADS 3
#include "memory.pml"

#define SHARED 0     /* head * 8 + split */
#define DATA(r) (1 + r)
#define STATE(r) (3 + r)
#define HEAD(w) (w / 8)
#define SPLIT(w) (w % 8)
#define WORD(h, s) ((h) * 8 + (s))
#define DONE 1
#define RESULT 10 /* of task v: RESULT + v */
#define TASKS 4

#ifdef PUBLISH_RELAXED
#define PUBLISH RELAXED
#else
#define PUBLISH RELEASE
#endif
#ifdef TAKE_RELAXED
#define TAKE RELAXED
#else
#define TAKE ACQUIRE
#endif
#ifdef DONE_RELAXED
#define FINISH RELAXED
#else
#define FINISH RELEASE
#endif
#ifdef SEEN_RELAXED
#define SEEN RELAXED
#else
#define SEEN ACQUIRE
#endif

byte ran[TASKS];
byte task[2]; /* in each record, by the owner's book */

inline count_run(job) {
  ran[job]++;
  assert(ran[job] == 1)
}

proctype thief(byte p) {
  byte w, x, tries;
  bool ok;
  do
  :: tries < 2 ->
     tries++;
     load(p, SHARED, RELAXED, w);
     if
     :: HEAD(w) < SPLIT(w) ->
#ifdef READ_FIRST /* before the record is ours */
        load(p, DATA(HEAD(w)), ACQUIRE, x);
#endif
        compare_exchange(p, SHARED, w, WORD(HEAD(w) + 1, SPLIT(w)), TAKE, ok);
        if
        :: ok ->
#ifndef READ_FIRST
           load(p, DATA(HEAD(w)), RELAXED, x);
#endif
           assert(x == task[HEAD(w)]);
           count_run(x);
           store(p, DATA(HEAD(w)), RESULT + x, RELAXED);
           store(p, STATE(HEAD(w)), DONE, FINISH)
        :: else
        fi;
        x = 0
     :: else
     fi;
     w = 0; ok = 0
  :: else -> break
  od
}

inline spawn(r, job) {
  task[r] = job;
  store(0, DATA(r), job, RELAXED)
}

inline publish(n) {
  exchange(0, SHARED, w, WORD(HEAD(w), n), PUBLISH)
}

/* Join record r. */
inline join(r) {
  load(0, SHARED, RELAXED, w);
  ok = 0;
  do
  :: !ok && HEAD(w) <= r ->
#ifdef RECLAIM_STORES /* instead of exchanging */
     store(0, SHARED, WORD(HEAD(w), HEAD(w) + (r - HEAD(w)) / 2), RELEASE);
     ok = 1
#else
     compare_exchange(0, SHARED, w, WORD(HEAD(w), HEAD(w) + (r - HEAD(w)) / 2),
                      RELEASE, ok);
     if
     :: !ok -> load(0, SHARED, RELAXED, w)
     :: else
     fi
#endif
  :: else -> break
  od;
  if
  :: ok ->
     load(0, DATA(r), RELAXED, x);
     assert(x == task[r]);
     count_run(x)
  :: else ->
     do
     :: load(0, STATE(r), SEEN, x);
        if
        :: x == DONE -> break
        :: else
        fi
     od;
     load(0, DATA(r), RELAXED, x);
     assert(x == RESULT + task[r]);
#ifndef STATE_KEPT /* the next thief of this record seems to have finished */
     store(0, STATE(r), 0, RELAXED);
#endif
     store(0, SHARED, WORD(r, r), RELEASE)
  fi;
  x = 0; w = 0; ok = 0
}

proctype owner() {
  byte w, x;
  bool ok;
  spawn(0, 1);
  spawn(1, 2);
  publish(2);
  join(1);
  spawn(1, 3);
  /* What lies below may have been taken back; publishing is of everything. */
  publish(2);
  join(1);
  join(0);
  assert(ran[1] == 1 && ran[2] == 1 && ran[3] == 1)
}

init {
  byte i;
  start_memory();
  atomic {
    run owner();
    do
    :: i < THIEVES -> i++; run thief(i)
    :: else -> break
    od
  }
}
