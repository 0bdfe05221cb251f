/* Copies of a pass that appends run one after another (push_copy() and end_copy() in
 * src/backend/list.c): they share a buffer. Whoever makes a copy puts it in
 * `newest` and, if another was there, leaves it to that one, in its `next`; whoever
 * ends a copy takes it out of `newest`, or hands on to the next. Here two units
 * make a copy each, and these and a third look for copies that are ready. Each copy runs once,
 * none while another does, as it was made, and finds in the buffer what the one
 * before left there. */
#define LOCATIONS 9
#define MESSAGES 5
#define THREADS 3
#include "memory.pml"

#define NEWEST 0
#define BUFFER 1
#define PUSHED 2
#define NEXT(c) (2 + (c)) /* copies are 1 and 2 */
#define READY(c) (4 + (c))
#define RECORD(c) (6 + (c))

#ifdef PUSH_RELAXED
#define PUSH RELAXED
#else
#define PUSH ACQ_REL
#endif
#ifdef END_RELAXED
#define END RELAXED
#else
#define END ACQ_REL
#endif
#ifdef WAIT_UNFENCED
#define WAIT_FENCE skip
#else
#define WAIT_FENCE fence(who, ACQUIRE)
#endif

byte ran, running;
bool readied[3], claimed[3];

/* push() */
inline make_ready(copy) {
  exchange(who, PUSHED, y, y + 1, ACQ_REL);
  y = 0;
  fence(who, RELEASE);
  store(who, READY(copy), 1, RELAXED);
  readied[copy] = true
}

inline push_copy(copy) {
  store(who, RECORD(copy), 1, RELAXED);
  load(who, NEWEST, RELAXED, x);
  do
#ifdef PUSH_IN_STEPS
  :: store(who, NEWEST, copy, RELEASE); break
#else
  :: compare_exchange(who, NEWEST, x, copy, PUSH, won);
     if
     :: won -> break
     :: else -> load(who, NEWEST, RELAXED, x)
     fi
#endif
  od;
  if
  :: x == 0 -> make_ready(copy)
  :: else -> store(who, NEXT(x), copy, RELAXED)
  fi;
  x = 0
}

inline end_copy(copy) {
#ifdef END_IN_STEPS
  load(who, NEWEST, ACQUIRE, x);
  won = x == copy;
  if
  :: won -> store(who, NEWEST, 0, RELEASE)
  :: else
  fi;
#else
  x = copy;
  compare_exchange(who, NEWEST, x, 0, END, won);
#endif
  if
  :: won
  :: else ->
     do
     :: load(who, NEXT(copy), RELAXED, x);
        if
        :: x != 0 -> break
        :: else
        fi
     od;
     WAIT_FENCE;
     make_ready(x)
  fi;
  x = 0
}

/* hdu_list_claim(): the copy, if it is seen to be ready and nobody has it. */
inline look(copy) {
  load(who, READY(copy), RELAXED, x);
  won = false;
  if
  :: x == 0
  :: else ->
     fence(who, ACQUIRE);
     atomic { won = !claimed[copy]; claimed[copy] = true }
  fi;
  if
  :: !won
  :: else ->
     assert(running == 0);
     running++;
     load(who, RECORD(copy), RELAXED, x);
     assert(x == 1);
     load(who, BUFFER, RELAXED, x);
     assert(x == ran);
     store(who, BUFFER, x + 1, RELAXED);
     ran++;
     running--;
     end_copy(copy)
  fi;
  x = 0; won = false
}

proctype unit(byte who) {
  byte x, y;
  bool won;
  if
  :: who < 2 -> push_copy(who + 1)
  :: else
  fi;
  do
  :: ran == 2 -> break
  :: readied[1] && !claimed[1] -> look(1)
  :: readied[2] && !claimed[2] -> look(2)
  od
}

init {
  start_memory();
  atomic { run unit(0); run unit(1); run unit(2) }
}
