/* Passes that join an open run (src/graph/run/extend.c): who adds a pass puts it
 * into the list of each pass that it waits for, unless that has ended; the end of
 * a pass takes its list and closes it, and counts down all in it. A pass that
 * joins holds itself until all its edges are in place. The run has a count of what
 * has not ended, in which one stands for its being open.
 *
 * Passes 0 and 1 run when the third process adds 2, after both, and then 3, after
 * 1 and 2; then it closes the run. Each runs once, after those that it waits for,
 * and the run ends once, after all. Memory is not weak here. */
#define PASSES 4
#define NONE 15
#define ENDED 14

byte followers[PASSES] = NONE; /* heads of lists of entries */
byte entry_task[8], entry_next[8], entries;
byte waiting[PASSES], runs[PASSES];
bool done[PASSES], ended, closed;
byte unfinished = 3; /* two passes and the run itself */

chan ready = [PASSES] of {byte};

inline count_down() {
  atomic {
    unfinished--;
    if
    :: unfinished == 0 -> assert(!ended); ended = true
    :: else
    fi
  }
}

inline ended_one(task) {
  atomic {
    waiting[task]--;
    if
    :: waiting[task] == 0 -> ready!task
    :: else
    fi
  }
}

/* A worker: passes until the run has ended. */
proctype worker() {
  byte me, at, next;
  do
  :: ready?me ->
     runs[me]++;
     assert(runs[me] == 1);
     assert(me < 2 || (done[1] && (me == 2 && done[0] || me == 3 && done[2])));
     done[me] = true;
#ifdef LEAVE_OPEN
     atomic { at = followers[me]; followers[me] = NONE };
#else
     atomic { at = followers[me]; followers[me] = ENDED };
#endif
     do
     :: at != NONE ->
        next = entry_next[at];
        ended_one(entry_task[at]);
        at = next
     :: else -> break
     od;
     count_down()
  :: ended -> break
  od
}

byte head, mine;

inline follow(from, to) {
  head = followers[from];
  if
#ifndef NEVER_ENDED
  :: head == ENDED
#endif
  :: else ->
     mine = entries;
     entries++;
     entry_task[mine] = to;
#ifndef COUNT_AFTER
     waiting[to]++;
#endif
     do
#ifndef NEVER_ENDED
     :: head == ENDED ->
#ifndef COUNT_AFTER
        waiting[to]--;
#endif
        break
#endif
     :: else ->
        entry_next[mine] = head;
        if
        :: atomic { followers[from] == head -> followers[from] = mine };
#ifdef COUNT_AFTER
           waiting[to]++;
#endif
           break
        :: atomic { followers[from] != head -> head = followers[from] }
        fi
     od
  fi
}

inline join(pass, one, other) {
#ifdef NO_HOLD
  waiting[pass] = 0;
#else
  waiting[pass] = 1;
#endif
  follow(one, pass);
  follow(other, pass);
#ifndef COUNTED_LATE
  unfinished++;
#endif
#ifdef NO_HOLD
  if
  :: waiting[pass] == 0 -> ready!pass
  :: else
  fi;
#else
  ended_one(pass);
#endif
#ifdef COUNTED_LATE
  unfinished++
#endif
}

proctype builder() {
#ifdef NOT_HELD
  count_down();
#endif
  join(2, 0, 1);
  join(3, 1, 2);
  closed = true;
#ifndef NOT_HELD
  count_down()
#endif
}

init {
  atomic {
    ready!0;
    ready!1;
    run worker();
    run worker();
    run builder()
  }
  ended;
  assert(closed && done[0] && done[1] && done[2] && done[3]);
  assert(unfinished == 0)
}
