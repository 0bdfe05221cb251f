/* Tasks that other machines compute (src/field/forall/forall.c, agent.c): a node without
 * tasks asks the others one after another, an agent answers for each process, with
 * several tasks at a time, and counts a result when it has written it. Who has got
 * several does the first and keeps the others in its slot, where they are taken by
 * itself from the front, and by others, through its agent, from the end. The owner meets the others when its
 * results are there or somebody has failed; a process stops its agent when it has
 * met all, by dissemination, which tells all who has failed. Every task is taken
 * once, its result is there, all know of a failure of this run, and all end.
 *
 * With FAILS any task may fail. A message may be of an earlier run. Process 0 has
 * the tasks; memory is not weak here (interval.pml). */
#define PROCESSES 3
#ifndef TASKS
#define TASKS 2
#endif
#define ROUNDS 2
#define RUN 2

#define ASK 0
#define RESULT 1
#define FAILURE 2
#define END 3

chan inbox[PROCESSES] = [10] of {byte, byte, byte}; /* what, from whom, of what */
chan answer[PROCESSES] = [1] of {byte, byte}; /* the first, how many */
chan meeting[6] = [1] of {bool}; /* receiver * ROUNDS + round */

byte first, last = TASKS;
byte loot[PROCESSES], loots[PROCESSES]; /* the first, how many: one word */
byte taken[TASKS], results, finished;
bool written[TASKS], stopped[PROCESSES], failed;

/* Take a task from the top of process 0's queue into k; TASKS when there is none. */
inline take(k) {
#ifdef TAKE_IN_STEPS
  if
  :: first == last -> k = TASKS
  :: else -> k = first; first++
  fi
#else
  atomic {
    if
    :: first == last -> k = TASKS
    :: else -> k = first; first++
    fi
  }
#endif
}

/* Take a task from the front of what is kept. */
inline take_loot(k) {
#ifdef LOOT_IN_STEPS
  if
  :: loots[me] == 0 -> k = TASKS
  :: else -> k = loot[me]; loot[me]++; loots[me]--
  fi
#else
  atomic {
    if
    :: loots[me] == 0 -> k = TASKS
    :: else -> k = loot[me]; loot[me]++; loots[me]--
    fi
  }
#endif
}

/* Give one to all tasks, of the own queue or of what is kept: n from `which`. */
inline give() {
  n = 0;
  which = TASKS;
  atomic {
    if
    :: me == 0 && first != last ->
       do
       :: first != last -> last--; which = last; n++
       :: n > 0 -> break
       od
    :: loots[me] > 0 ->
       do
       :: loots[me] > 0 -> 
#ifndef GIVE_AND_KEEP
          loots[me]--;
          which = loot[me] + loots[me];
          n++
#else
          which = loot[me] + loots[me] - 1;
          n++; break
#endif
       :: n > 0 -> break
       od
    :: true /* it is not worth the bytes to move, or there is none */
    fi
  }
}

proctype agent(byte me) {
  byte what, from, which, n;
  do
  :: inbox[me]?what, from, which ->
     if
     :: what == END -> break
     :: what == ASK ->
        give();
        answer[from]!which, n
     :: what == RESULT ->
#ifdef COUNT_FIRST
        results++;
        written[which] = true
#else
        written[which] = true;
        results++
#endif
     :: what == FAILURE ->
        if
#ifdef ANY_RUN
        :: true -> stopped[me] = true
#else
        :: which == RUN -> stopped[me] = true
        :: else
#endif
        fi
     fi
  od;
  finished++
}

inline compute(k) {
  taken[k]++;
  if
  :: true ->
     if
     :: me == 0 -> atomic { written[k] = true; results++ }
     :: else -> inbox[0]!RESULT, me, k
     fi
#ifdef FAILS
  :: true ->
     said = true;
     failed = true;
     stopped[me] = true;
#ifndef FAIL_SILENTLY
     inbox[(me + 1) % PROCESSES]!FAILURE, me, RUN;
     inbox[(me + 2) % PROCESSES]!FAILURE, me, RUN
#endif
#endif
  fi
}

proctype worker(byte me) {
  byte k, n, asked = 1, round;
  bool said, heard;
  do
  :: stopped[me] -> break
  :: else ->
     k = TASKS;
     if
     :: me == 0 -> take(k)
     :: else
     fi;
     if
     :: k == TASKS -> take_loot(k)
     :: else
     fi;
     do
     :: k == TASKS && asked < PROCESSES ->
        inbox[(me + asked) % PROCESSES]!ASK, me, 0;
        answer[me]?k, n;
        if
        :: k == TASKS -> asked++
        :: n > 1 ->
#ifndef LOSE_REST
           atomic { loot[me] = k + 1; loots[me] = n - 1 }
#endif
        :: else
        fi;
        n = 0
     :: else -> break
     od;
     if
     :: k == TASKS -> break
     :: else -> compute(k)
     fi
  od;
#ifndef MEET_FIRST
  if
  :: me == 0 -> results == TASKS || stopped[0]
  :: else
  fi;
#endif
  assert(!stopped[me] || failed);
  if
  :: me == 0 && !stopped[0] ->
     k = 0;
     do
     :: k < TASKS -> assert(written[k] && taken[k] == 1); k++
     :: else -> break
     od
  :: else
  fi;
#ifdef END_FIRST
  inbox[me]!END, me, 0;
#endif
#ifdef SAY_NOTHING
  said = false;
#endif
  do
  :: round < ROUNDS ->
     meeting[((me + 1 + round) % PROCESSES) * ROUNDS + round]!said;
     meeting[me * ROUNDS + round]?heard;
#ifndef KEEP_SILENT
     said = said || heard;
#endif
     round++
  :: else -> break
  od;
  assert(said == failed);
#ifndef END_FIRST
  inbox[me]!END, me, 0;
#endif
  finished++
}

init {
  if
  :: inbox[0]!FAILURE, 2, RUN - 1
  :: true
  fi;
  atomic {
    run agent(0);
    run agent(1);
    run agent(2);
    run worker(0);
    run worker(1);
    run worker(2)
  }
  finished == 2 * PROCESSES
}
