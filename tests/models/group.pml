/* The words of a group (src/steal/group.h): who waits for it is woken by the job
 * that makes it empty, sees what all jobs did and the first error alone, and may
 * free it: nobody touches it after. */
#define LOCATIONS 5
#define MESSAGES 8
#define THREADS 3
#include "memory.pml"

#define WORD 0      /* unfinished jobs times 2, and whether somebody waits */
#define FATE 1      /* the first error */
#define RESULT(p) (2 + (p) - 1)
#define TEXT 4      /* of the error: what the one that won has written */

#ifdef LEAVE_RELAXED
#define LEAVE RELAXED
#else
#define LEAVE ACQ_REL
#endif
#ifdef DONE_RELAXED
#define DONE RELAXED
#else
#define DONE ACQUIRE
#endif

bool asleep, freed;
byte winners;

inline word_is_there() { assert(!freed) }

proctype job(byte me) {
  byte old, left;
  bool ok;
  store(me, RESULT(me), 1, RELAXED);

  /* hdi_group_fail() */
#ifdef FAIL_IN_STEPS
  load(me, FATE, RELAXED, old);
  if
  :: old == 0 -> store(me, FATE, me, RELAXED); ok = 1
  :: else
  fi;
#else
  compare_exchange(me, FATE, 0, me, ACQ_REL, ok);
#endif
  if
  :: ok -> winners++; assert(winners == 1); store(me, TEXT, me, RELAXED)
  :: else
  fi;
  ok = 0;

  /* hdi_group_leave() */
#ifdef LEAVE_IN_STEPS /* count down, then look whether anybody waits */
  word_is_there();
  exchange(me, WORD, old, old - 2, LEAVE);
  left = old - 2;
  if
  :: left < 2 ->
     word_is_there();
     load(me, WORD, RELAXED, old);
     left = 0
  :: else
  fi;
#else
  do
  :: word_is_there();
     load(me, WORD, RELAXED, old);
     left = old - 2;
     if
     :: left < 2 -> left = 0
     :: else
     fi;
     compare_exchange(me, WORD, old, left, LEAVE, ok);
     if
     :: ok -> break
     :: else
     fi
  od;
#endif
  if
  :: left == 0 && old % 2 -> asleep = 0 /* by address: it may be gone */
  :: else
  fi
}

proctype waiter() {
  byte old, x;
  bool ok;
  do
  :: /* hdi_group_mark() */
     load(0, WORD, DONE, old);
     if
     :: old < 2 -> break
     :: old >= 2 && old % 2 == 0 ->
#ifdef UNMARKED
        skip
#else
        compare_exchange(0, WORD, old, old + 1, ACQ_REL, ok);
        if
        :: ok -> old = old + 1
        :: else -> old = 0
        fi
#endif
     :: else
     fi;
     if
     :: old > 0 ->
        atomic { /* the kernel's look */
          if
          :: NEWEST(WORD) == old -> asleep = 1
          :: else
          fi
        };
        !asleep
     :: else
     fi
  od;
  load(0, RESULT(1), RELAXED, x);
  assert(x == 1);
  load(0, RESULT(2), RELAXED, x);
  assert(x == 1);
  load(0, FATE, RELAXED, old);
  load(0, TEXT, RELAXED, x);
  assert(x == old);
  freed = 1
}

init {
  start_memory();
  start_value(WORD, 4);
  atomic { run job(1); run job(2); run waiter() }
}
