/* C11 memory for Spin, whose own is sequentially consistent.
 *
 * A location is a list of messages in modification order, each with the view its
 * writer released. A thread's view says which message of each location is the
 * oldest it may still read; a relaxed read takes any that is not older.
 *
 *   acquire read    joins the message's view into the thread's
 *   relaxed read    keeps it for a later acquire fence
 *   release write   puts the thread's view into the message
 *   relaxed write   puts in the view of the last release fence
 *   read-modify-write  reads the newest message, appends the next one, and hands
 *                      on the view of what it read (release sequence)
 *   seq_cst fence   both fences, and joins with one view for all
 *
 * Stores go to the end of the modification order, but for store_anywhere(), and no
 * read takes a value that is written later: load buffering cannot happen here
 * (litmus.pml shows it).
 * With -DSTRONG_MEMORY every read takes the newest: for larger runs of a protocol
 * whose orders smaller ones have shown to be enough.
 * Define LOCATIONS, MESSAGES and THREADS before including this.
 */
#define RELAXED 0
#define ACQUIRE 1
#define RELEASE 2
#define ACQ_REL 3

#ifndef STRONG_MEMORY

typedef message {
  byte value;
  byte view[LOCATIONS]
};
typedef location {
  byte count;
  message list[MESSAGES]
};
typedef thread {
  byte now[LOCATIONS];     /* oldest readable */
  byte pending[LOCATIONS]; /* from relaxed reads, until an acquire fence */
  byte released[LOCATIONS] /* at the last release fence */
};

location memory[LOCATIONS];
thread threads[THREADS];
byte total[LOCATIONS]; /* of the seq_cst fences */
hidden byte k_, j_, at_;

#define NEWEST(l) (memory[l].list[memory[l].count - 1].value)

inline raise_(to, from) {
  if
  :: from > to -> to = from
  :: else
  fi
}

inline start_memory() {
  d_step {
    k_ = 0;
    do
    :: k_ < LOCATIONS -> memory[k_].count = 1; k_++
    :: else -> break
    od
  }
}

inline start_value(l, v) { memory[l].list[0].value = v }

/* Read message at_. */
inline see_(p, l, order) {
  threads[p].now[l] = at_;
  k_ = 0;
  do
  :: k_ < LOCATIONS ->
     if
     :: order & ACQUIRE ->
        raise_(threads[p].now[k_], memory[l].list[at_].view[k_])
     :: else ->
        raise_(threads[p].pending[k_], memory[l].list[at_].view[k_])
     fi;
     k_++
  :: else -> break
  od
}

/* Write a message at `place`; `base` is what it follows in a release sequence, or
 * the first message, whose view is empty. */
inline write_(p, l, place, v, order, base) {
  threads[p].now[l] = place;
  k_ = 0;
  do
  :: k_ < LOCATIONS ->
     memory[l].list[place].view[k_] =
         (order & RELEASE -> threads[p].now[k_] : threads[p].released[k_]);
     raise_(memory[l].list[place].view[k_], memory[l].list[base].view[k_]);
     k_++
  :: else -> break
  od;
  memory[l].list[place].view[l] = place;
  memory[l].list[place].value = v;
  memory[l].count++
}

inline append_(p, l, v, order, base) {
  assert(memory[l].count < MESSAGES);
  write_(p, l, memory[l].count, v, order, base)
}

/* The messages of `l` from at_ on move up by one: so do all views of them. */
inline up_(view_) {
  if
  :: view_ >= at_ -> view_++
  :: else
  fi
}
inline make_room_(l) {
  up_(total[l]);
  k_ = 0;
  do
  :: k_ < THREADS ->
     up_(threads[k_].now[l]);
     up_(threads[k_].pending[l]);
     up_(threads[k_].released[l]);
     k_++
  :: else -> break
  od;
  j_ = 0;
  do
  :: j_ < LOCATIONS ->
     k_ = 0;
     do
     :: k_ < memory[j_].count -> up_(memory[j_].list[k_].view[l]); k_++
     :: else -> break
     od;
     j_++
  :: else -> break
  od;
  k_ = memory[l].count;
  do
  :: k_ > at_ ->
     memory[l].list[k_].value = memory[l].list[k_ - 1].value;
     j_ = 0;
     do
     :: j_ < LOCATIONS ->
        memory[l].list[k_].view[j_] = memory[l].list[k_ - 1].view[j_];
        j_++
     :: else -> break
     od;
     k_--
  :: else -> break
  od;
  j_ = 0
}

inline load(p, l, order, to) {
  atomic {
    at_ = threads[p].now[l];
    do
    :: at_ + 1 < memory[l].count -> at_++
    :: break
    od;
    see_(p, l, order);
    to = memory[l].list[at_].value;
    at_ = 0; k_ = 0
  }
}

inline store(p, l, v, order) {
  d_step { append_(p, l, v, order, 0); k_ = 0 }
}

/* A store that takes any place in the modification order behind what its thread
 * knows of: two stores that nothing orders come out either way. Not for locations
 * with read-modify-writes, which stand right behind what they read. */
inline store_anywhere(p, l, v, order) {
  atomic {
    at_ = threads[p].now[l] + 1;
    do
    :: at_ < memory[l].count -> at_++
    :: break
    od;
    skip; /* Spin lets no jump end at a d_step */
    d_step {
      assert(memory[l].count < MESSAGES);
      make_room_(l);
      write_(p, l, at_, v, order, 0);
      at_ = 0; k_ = 0
    }
  }
}

/* Newest value into `old`; `new` may use it. */
inline exchange(p, l, old, new, order) {
  d_step {
    at_ = memory[l].count - 1;
    old = memory[l].list[at_].value;
    see_(p, l, order);
    append_(p, l, new, order, at_);
    at_ = 0; k_ = 0
  }
}

inline compare_exchange(p, l, expected, new, order, done) {
  d_step {
    at_ = memory[l].count - 1;
    if
    :: memory[l].list[at_].value == expected ->
       see_(p, l, order);
       append_(p, l, new, order, at_);
       done = 1
    :: else ->
       see_(p, l, RELAXED);
       done = 0
    fi;
    at_ = 0; k_ = 0
  }
}

inline fence(p, order) {
  d_step {
    k_ = 0;
    do
    :: k_ < LOCATIONS ->
       if
       :: order & ACQUIRE -> raise_(threads[p].now[k_], threads[p].pending[k_])
       :: else
       fi;
       if
       :: order & RELEASE -> threads[p].released[k_] = threads[p].now[k_]
       :: else
       fi;
       k_++
    :: else -> break
    od;
    k_ = 0
  }
}

inline fence_seq_cst(p) {
  d_step {
    k_ = 0;
    do
    :: k_ < LOCATIONS ->
       raise_(threads[p].now[k_], threads[p].pending[k_]);
       raise_(threads[p].now[k_], total[k_]);
       total[k_] = threads[p].now[k_];
       threads[p].released[k_] = threads[p].now[k_];
       k_++
    :: else -> break
    od;
    k_ = 0
  }
}

#else /* STRONG_MEMORY: a location is its newest value */

byte memory[LOCATIONS];
#define NEWEST(l) (memory[l])

inline start_memory() { skip }
inline start_value(l, v) { memory[l] = v }
inline load(p, l, order, to) { to = memory[l] }
inline store(p, l, v, order) { memory[l] = v }
inline store_anywhere(p, l, v, order) { memory[l] = v }
inline exchange(p, l, old, new, order) {
  d_step { old = memory[l]; memory[l] = new }
}
inline compare_exchange(p, l, expected, new, order, done) {
  d_step {
    if
    :: memory[l] == expected -> memory[l] = new; done = 1
    :: else -> done = 0
    fi
  }
}
inline fence(p, order) { skip }
inline fence_seq_cst(p) { skip }

#endif
