/* Starting after an event against its end (hdi_event_start() and end_one() in
 * src/steal/event/progress.c): whoever comes after it gets ready once, when both have
 * counted it down, and sees what the event did. `head` is the list of those that
 * come after it, newest first, or says that it has ended, in one word. */
#define LOCATIONS 6
#define MESSAGES 6
#define THREADS 3
#include "memory.pml"

#define HEAD 0
#define DATA 1        /* what was done before the end */
#define LINK(p) (1 + p)    /* of starter p, 1 and 2: who came before */
#define WAITING(p) (3 + p)
#define ENDER 0
#define NOBODY 0
#define CLOSED 3

#ifdef CLOSE_RELAXED
#define CLOSE RELEASE
#else
#define CLOSE ACQ_REL
#endif
#ifdef CLOSE_UNRELEASED
#undef CLOSE
#define CLOSE ACQUIRE
#endif
#ifdef PUSH_RELAXED
#define PUSH ACQUIRE
#else
#define PUSH ACQ_REL
#endif
#ifdef LOOK_RELAXED
#define LOOK RELAXED
#else
#define LOOK ACQUIRE
#endif
#ifdef COUNT_RELAXED
#define COUNT RELAXED
#else
#define COUNT ACQ_REL
#endif

byte ready[3];
byte finished;

inline get_ready(t, p, y) {
  ready[p]++;
  assert(ready[p] == 1);
  load(t, DATA, RELAXED, y);
  assert(y == 1)
}

proctype starter(byte me) {
  byte old, x, ended;
  bool ok;
#ifdef UNGUARDED /* counts the event alone */
  store(me, WAITING(me), 1, RELAXED);
#else
  store(me, WAITING(me), 2, RELAXED);
#endif
  do
  :: load(me, HEAD, LOOK, old);
     if
     :: old == CLOSED -> ended = 1; break
     :: else
     fi;
     store(me, LINK(me), old, RELAXED);
     compare_exchange(me, HEAD, old, me, PUSH, ok);
     if
     :: ok -> break
     :: else
     fi
  od;
  exchange(me, WAITING(me), old, old - 1 - ended, COUNT);
  if
  :: old == 1 + ended -> get_ready(me, me, x)
  :: else
  fi;
  finished++
}

proctype ender() {
  byte link, next, old, x;
  store(ENDER, DATA, 1, RELAXED);
#ifdef CLOSE_IN_STEPS
  load(ENDER, HEAD, ACQUIRE, link);
  store(ENDER, HEAD, CLOSED, RELEASE);
#else
  exchange(ENDER, HEAD, link, CLOSED, CLOSE);
#endif
  do
  :: link == NOBODY -> break
  :: else ->
     load(ENDER, LINK(link), RELAXED, next);
     exchange(ENDER, WAITING(link), old, old - 1, COUNT);
     if
     :: old == 1 -> get_ready(ENDER, link, x)
     :: else
     fi;
     link = next
  od;
  finished++
}

init {
  start_memory();
  start_value(LINK(1), CLOSED);
  start_value(LINK(2), CLOSED);
  atomic { run starter(1); run starter(2); run ender() };
  finished == 3;
  assert(ready[1] == 1 && ready[2] == 1)
}
