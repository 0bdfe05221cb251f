/* A cancelled group is heard of (hd_group_cancel() and hdi_pool_poke(), against
 * answer() in src/steal/worker/working.c): it stores that it is cancelled and asks the
 * owner, whose next fork looks; the owner withdraws the request, then looks
 * again. When both are done, the owner knows, or the request stands. */
#define LOCATIONS 2
#define MESSAGES 6
#define THREADS 2
#include "memory.pml"

#define FATE 0
#define ASKED 1 /* limit_ is NULL */

byte finished;
bool knows;

inline look() {
  load(0, FATE, RELAXED, x);
  if
  :: x -> knows = 1
  :: else
  fi
}

proctype owner() {
  byte x, forks;
  do
  :: forks < 2 ->
     forks++;
     load(0, ASKED, RELAXED, x);
     if
     :: x ->
        look();
        if
        :: !knows -> /* else the request stands */
           store(0, ASKED, 0, RELAXED);
#ifndef ANSWER_UNFENCED
           fence_seq_cst(0);
#endif
#ifndef ANSWER_BLIND
           look()
#endif
        :: else
        fi
     :: else
     fi;
     x = 0
  :: else -> break
  od;
  finished++
}

inline ask() {
  load(1, ASKED, RELAXED, x);
  if
  :: !x -> store(1, ASKED, 1, RELAXED)
  :: else
  fi;
  x = 0
}

proctype canceller() {
  byte x;
#ifdef ASK_FIRST
  ask();
#endif
  exchange(1, FATE, x, 1, ACQ_REL);
  x = 0;
#ifndef POKE_UNFENCED
  fence_seq_cst(1);
#endif
#ifndef ASK_FIRST
  ask();
#endif
  finished++
}

init {
  start_memory();
  start_value(ASKED, 1); /* by a worker without work */
  atomic { run owner(); run canceller() }
  finished == 2;
  assert(knows || NEWEST(ASKED) == 1)
}
