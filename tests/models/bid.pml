/* A launch that waits outside of the pool for its pieces (sleep_outside() and
 * finish() in src/launch/broker/broker.c): it wakes when the last is done, sees what
 * all wrote, and nobody touches its memory afterwards.
 *
 * `pending` counts pieces and says whether the launch sleeps, in one word,
 * because the word is gone as soon as the count is 0. A piece may be halved
 * while it is taken, which counts one more. The broker's lock orders the two
 * servers among each other only. */
#define LOCATIONS 3
#define MESSAGES 16
#define THREADS 3
#include "memory.pml"

#define PENDING 0
#define WROTE(p) (p) /* what server p did for the launch, 1 and 2 */
#define LAUNCH 0
#define ASLEEP 8

#ifdef FINISH_RELAXED
#define FINISH RELAXED
#else
#define FINISH ACQ_REL
#endif
#ifdef SEE_RELAXED
#define SEE RELAXED
#else
#define SEE ACQUIRE
#endif

bool sleeps, gone;

/* FUTEX_WAIT: only while the word is what was seen. */
inline futex_wait(word) {
  atomic {
    if
    :: NEWEST(PENDING) == word -> sleeps = 1
    :: else
    fi
  };
  !sleeps
}

proctype server(byte p) {
  byte x, left = 1;
  if
  :: p == 1 -> /* takes half of the piece, and gives back the rest */
     exchange(p, PENDING, x, x + 1, RELAXED);
     left = 2
  :: else
  fi;
  do
  :: store(p, WROTE(p), (left == 1 -> 1 : 2), RELAXED);
#ifdef LOOK_AFTER /* for the sleeper, once the count is down */
     exchange(p, PENDING, x, x - 1, FINISH);
     assert(!gone);
     load(p, PENDING, RELAXED, x);
     x = (x == ASLEEP -> ASLEEP + 1 : 0);
#else
     assert(!gone);
#ifdef IN_STEPS
     load(p, PENDING, RELAXED, x);
     store(p, PENDING, x - 1, RELEASE);
#else
     exchange(p, PENDING, x, x - 1, FINISH);
#endif
#endif
     if
     :: x == ASLEEP + 1 -> sleeps = 0 /* waking looks at no memory of ours */
     :: else
     fi;
     x = 0;
     left--;
     if
     :: left == 0 -> break
     :: else
     fi
  od
}

proctype launch() {
  byte word, x;
  load(LAUNCH, PENDING, SEE, word);
#ifdef SLEEP_UNMARKED
  load(LAUNCH, PENDING, SEE, word);
#else
  exchange(LAUNCH, PENDING, word, word | ASLEEP, ACQUIRE);
  word = word | ASLEEP;
#endif
  do
  :: (word & 7) == 0 -> break
  :: else ->
     futex_wait(word);
     load(LAUNCH, PENDING, SEE, word)
  od;
  gone = 1;
  load(LAUNCH, WROTE(1), RELAXED, x);
  assert(x == 1);
  load(LAUNCH, WROTE(2), RELAXED, x);
  assert(x == 1)
}

init {
  start_memory();
  start_value(PENDING, 2);
  atomic { run server(1); run server(2); run launch() }
}
