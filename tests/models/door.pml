/* Units that help with a list (hdu_list_show() to hdu_list_leave() in
 * src/backend/list.c). Two units have a list each, whose memory is another's as soon as
 * they have answered; others look behind the one door. Who comes counts itself
 * and then looks, who takes its list away does it the other way round. A helper
 * finds a list as its unit has begun it, and it stays until the helper has left. */
#ifndef HELPERS
#define HELPERS 1
#endif
#define LOCATIONS 5
#define MESSAGES 7
#define THREADS (2 + HELPERS)
#include "memory.pml"

#define LIST 0      /* of the door: 0, AWAY, or a unit and FIRST */
#define INSIDE 1
#define BEGUN(u) (2 + (u)) /* what a unit puts in its list */
#define DONE 4      /* what a helper does */
#define AWAY 1
#define FIRST 2

#ifdef SHOW_RELAXED
#define SHOW RELAXED
#else
#define SHOW ACQ_REL
#endif
#ifdef ENTER_UNFENCED
#define ENTER_FENCE skip
#else
#define ENTER_FENCE fence_seq_cst(who)
#endif
#ifdef HIDE_UNFENCED
#define HIDE_FENCE skip
#else
#define HIDE_FENCE fence_seq_cst(who)
#endif
#ifdef SEE_UNFENCED
#define SEE_FENCE skip
#else
#define SEE_FENCE fence(who, ACQUIRE)
#endif
#ifdef LEAVE_RELAXED
#define LEAVE RELAXED
#else
#define LEAVE ACQ_REL
#endif
#ifdef WAIT_UNFENCED
#define WAIT_FENCE skip
#else
#define WAIT_FENCE fence(who, ACQUIRE)
#endif

bool alive[2], held[2];
byte helped[2];

/* hdu_list_show() and hdu_list_hide(), by the unit whose list it is. */
proctype unit(byte who) {
  byte x, y;
  bool won;
  alive[who] = true;
  store(who, BEGUN(who), 1, RELAXED);
  compare_exchange(who, LIST, 0, who + FIRST, SHOW, won);
  won = false;
#ifdef NOT_AWAY
  compare_exchange(who, LIST, who + FIRST, 0, ACQ_REL, won);
#else
  compare_exchange(who, LIST, who + FIRST, AWAY, ACQ_REL, won);
#endif
  if
  :: !won
  :: else ->
     HIDE_FENCE;
#ifndef NO_WAIT
     do
     :: load(who, INSIDE, RELAXED, x);
        /* Nobody who came to another's list is waited for. */
        assert(!held[1 - who]);
        if
        :: x == 0 -> break
        :: else
        fi
     od;
#endif
     WAIT_FENCE;
#ifndef NOT_AWAY
     store(who, LIST, 0, RELAXED);
#endif
     load(who, DONE, RELAXED, y);
     assert(y >= helped[who])
  fi;
  assert(!held[who]);
  alive[who] = false
}

/* hdu_list_enter(), one look at the list, hdu_list_leave(). */
proctype helper(byte who) {
  byte x, y, list;
  bool won;
  load(who, LIST, RELAXED, list);
  if
  :: list <= AWAY
  :: else ->
#ifdef LOOK_FIRST
     load(who, LIST, RELAXED, list);
#endif
     exchange(who, INSIDE, x, x + 1, ACQ_REL);
     ENTER_FENCE;
#ifndef LOOK_FIRST
     load(who, LIST, RELAXED, list);
#endif
     if
     :: list <= AWAY
     :: else ->
        SEE_FENCE;
        list = list - FIRST;
        assert(alive[list]);
        held[list] = true;
        load(who, BEGUN(list), RELAXED, x);
        assert(x == 1);
        exchange(who, DONE, y, y + 1, RELAXED);
        atomic { helped[list] = y + 1; y = 0 };
        held[list] = false
     fi;
     exchange(who, INSIDE, x, x - 1, LEAVE);
     x = 0
  fi
}

init {
  start_memory();
  atomic {
    run unit(0);
    run unit(1);
    run helper(2);
    if
    :: HELPERS > 1 -> run helper(3)
    :: else
    fi
  }
}
