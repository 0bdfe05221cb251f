/* Which group a stolen task belongs to (src/steal/worker/scope.h): a thief asks for the
 * frame that covers its record while the owner enters and leaves frames above
 * it.
 *
 * The owner enters a scope, forks record 0 in it and publishes that; then two
 * scopes of what it runs itself, one inside the other, come and go. The slots of
 * the frames have been used before, with a base that would cover the record. */
#define LOCATIONS 6
#define MESSAGES 6
#define THREADS 2
#include "memory.pml"

#define COUNT 0
#define PUBLIC 1 /* records */
#define BASE(n) (2 + (n) - 1) /* of frames 1 and 2; frame 0 stays */
#define GROUP(n) (4 + (n) - 1)

#define OWNER 0
#define THIEF 1
#define RIGHT 1 /* the group of record 0 */
#define OTHER 2
#define OLD 3

#ifdef ENTER_RELAXED
#define ENTER RELAXED
#else
#define ENTER RELEASE
#endif
#ifdef LEAVE_RELAXED
#define LEAVE RELAXED
#else
#define LEAVE RELEASE
#endif
#ifdef ASK_RELAXED
#define ASK RELAXED
#else
#define ASK ACQUIRE
#endif

inline enter(n, base, group) {
#ifdef COUNT_FIRST /* before the frame is written */
  store(OWNER, COUNT, n + 1, ENTER);
#endif
  store(OWNER, BASE(n), base, RELAXED);
  store(OWNER, GROUP(n), group, RELAXED);
#ifndef COUNT_FIRST
  store(OWNER, COUNT, n + 1, ENTER);
#endif
}

proctype owner() {
  /* Frame 0 covers record 0. */
  store(OWNER, PUBLIC, 1, RELEASE);
  enter(1, 1, OTHER);
  enter(2, 1, OTHER);
  store(OWNER, COUNT, 2, LEAVE);
#ifdef BASE_WRONG /* as if the record counted as the inner scope's */
  enter(2, 0, OTHER)
#else
  enter(2, 1, OTHER)
#endif
}

proctype thief() {
  byte n, x;
  load(THIEF, PUBLIC, ACQUIRE, x);
  if
  :: x == 0 -> goto done
  :: else
  fi;
  load(THIEF, COUNT, ASK, n);
  do
  :: n > 1 ->
     n--;
     load(THIEF, BASE(n), RELAXED, x);
     if
     :: x == 0 ->
        load(THIEF, GROUP(n), RELAXED, x);
        assert(x == RIGHT);
        break
     :: else
     fi
  :: else -> break
  od;
done:
  skip
}

init {
  start_memory();
  start_value(COUNT, 1);
  start_value(GROUP(1), OLD);
  start_value(GROUP(2), OLD);
  atomic { run owner(); run thief() }
}
