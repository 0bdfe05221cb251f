/* A record of an event that ends, is held, waited for, and used again, and looks
 * with the handle of before (src/steal/event/record.c and handle.c): who holds it finds
 * its own generation, it is given back once, by the last, who sees what all did;
 * and nobody is added to a later one.
 *
 * `life` is its generation and references, `head` its generation and whether it
 * has ended; a waiter sleeps on the word of its group. */
#define LOCATIONS 5
#define MESSAGES 8
#define THREADS 3
#include "memory.pml"

#define LIFE 0  /* 8 times the generation, and references */
#define HEAD 1  /* 4 times the generation, and: */
#define NOBODY 0
#define LINK 1
#define CLOSED 3
#define CAUSE 2 /* 1: what the first one ended with; 2: of the next */
#define WORD 3  /* of the group: 2 until it has ended, 1: somebody sleeps */
#define SEEN 4  /* what the waiter noted in the record */
#define ENDER 0
#define WAITER 1
#define LATE 2

#ifdef LET_GO_RELAXED
#define LET_GO RELAXED
#else
#define LET_GO ACQ_REL
#endif
#ifdef CLOSE_RELAXED
#define CLOSE ACQUIRE
#else
#define CLOSE ACQ_REL
#endif
#ifdef LOOK_RELAXED
#define LOOK RELAXED
#else
#define LOOK ACQUIRE
#endif
#ifdef LEAVE_RELAXED
#define LEAVE RELAXED
#else
#define LEAVE ACQ_REL
#endif

bool sleeps;
byte recycled;

/* By the last, who uses it again at once. */
inline recycle(me, x) {
  recycled++;
  assert(recycled == 1);
  load(me, CAUSE, RELAXED, x);
  assert(x == 1);
  load(me, SEEN, RELAXED, x);
  assert(x == 1);
  store(me, CAUSE, 2, RELAXED);
#ifdef SAME_GENERATION
  store(me, HEAD, 4 + NOBODY, RELEASE);
  store(me, LIFE, 8 + 2, RELEASE)
#else
  store(me, LIFE, 16, RELAXED);
  store(me, HEAD, 8 + NOBODY, RELEASE);
  store(me, LIFE, 16 + 2, RELEASE)
#endif
}

inline let_go(me, x) {
  exchange(me, LIFE, x, x - 1, LET_GO);
  if
  :: x == 8 + 1 -> recycle(me, x)
  :: else
  fi
}

proctype ender() {
  byte x;
  store(ENDER, CAUSE, 1, RELAXED);
  exchange(ENDER, HEAD, x, 4 + CLOSED, CLOSE);
#ifdef LEAVE_IN_STEPS
  load(ENDER, WORD, RELAXED, x);
  store(ENDER, WORD, 0, RELEASE);
#else
  exchange(ENDER, WORD, x, 0, LEAVE);
#endif
  if
  :: x % 2 == 1 -> sleeps = 0
  :: else
  fi;
  let_go(ENDER, x)
}

proctype waiter() { /* holds it */
  byte x, word;
  bool ok;
  do
  :: load(WAITER, WORD, ACQUIRE, word);
     if
     :: word == 0 -> break
     :: else
     fi;
     if
     :: word % 2 == 0 ->
        compare_exchange(WAITER, WORD, word, word + 1, ACQ_REL, ok);
        if
        :: ok -> word = word + 1
        :: else -> word = 0
        fi
     :: else
     fi;
     if
     :: word > 0 ->
        atomic { /* the kernel's look */
          if
          :: NEWEST(WORD) == word -> sleeps = 1
          :: else
          fi
        };
        !sleeps
     :: else
     fi
  od;
  load(WAITER, CAUSE, RELAXED, x);
  assert(x == 1);
  store(WAITER, SEEN, 1, RELAXED);
  let_go(WAITER, x)
}

proctype late() { /* has a handle of the first generation, and does not hold it */
  byte life, head, x;
  bool ok;
  /* hold() */
  do
  :: load(LATE, LIFE, ACQUIRE, life);
     if
     :: life / 8 != 1 || life % 8 == 0 -> break
     :: else
     fi;
#ifdef HOLD_BLINDLY
     exchange(LATE, LIFE, life, life + 1, ACQ_REL);
     ok = 1;
#else
     compare_exchange(LATE, LIFE, life, life + 1, ACQ_REL, ok);
#endif
     if
     :: ok -> break
     :: else
     fi
  od;
  if
  :: ok ->
     load(LATE, HEAD, LOOK, head);
     assert(recycled == 0 && head / 4 == 1);
     if
     :: head == 4 + CLOSED ->
        load(LATE, CAUSE, RELAXED, x);
        assert(x == 1)
     :: else
     fi;
     let_go(LATE, x)
  :: else
  fi;
  /* start after it */
  ok = 0;
  do
  :: load(LATE, HEAD, LOOK, head);
     if
#ifdef PUSH_ANY
     :: head % 4 == CLOSED -> break
#else
     :: head / 4 != 1 || head % 4 == CLOSED -> break
#endif
     :: else
     fi;
     compare_exchange(LATE, HEAD, head, head + LINK, ACQ_REL, ok);
     if
     :: ok -> break
     :: else
     fi
  od;
  if
  :: ok -> assert(head / 4 == 1)
  :: else
  fi
}

init {
  start_memory();
  start_value(LIFE, 8 + 2);
  start_value(HEAD, 4 + NOBODY);
  start_value(WORD, 2);
  atomic { run ender(); run waiter(); run late() }
}
